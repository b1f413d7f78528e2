package io.jccl.spark;

import java.time.Duration;
import java.util.Locale;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.resource.ResourceProfile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/**
 * The settings {@code spark.jccl.*}, and the driver's check that a barrier stage can start.
 *
 * @param communicator settings of the communicators by their names, {@code JCCL_*}; serializable
 * @param slotsTimeout time that the driver waits for as many slots as ranks
 */
record BarrierSettings(TreeMap<String, String> communicator, Duration slotsTimeout) {

    /** Prefix of the settings' names. */
    static final String PREFIX = "spark.jccl.";

    private static final String SLOTS_TIMEOUT = PREFIX + "barrier.slotsTimeout";
    private static final String DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled";
    private static final long POLL_MILLIS = 50;
    private static final Logger LOG = LoggerFactory.getLogger(BarrierSettings.class);

    /**
     * Reads the settings.
     *
     * @throws IllegalArgumentException if a name below {@code spark.jccl.barrier} is unknown, or its value is bad
     */
    static BarrierSettings of(SparkConf conf) {
        TreeMap<String, String> communicator = new TreeMap<>();
        for (Tuple2<String, String> entry : conf.getAllWithPrefix(PREFIX)) {
            String name = entry._1();
            if (!name.startsWith("barrier.")) {
                communicator.put("JCCL_" + name.replace('.', '_').toUpperCase(Locale.ROOT), entry._2());
            } else if (!SLOTS_TIMEOUT.equals(PREFIX + name)) {
                throw new IllegalArgumentException(PREFIX + name + "=" + entry._2() + ": expected " + SLOTS_TIMEOUT
                        + "; settings of communicators have names such as " + PREFIX + "timeout");
            }
        }
        return new BarrierSettings(communicator, slotsTimeout(conf));
    }

    private static Duration slotsTimeout(SparkConf conf) {
        String text = conf.get(SLOTS_TIMEOUT, "30s");
        try {
            return Duration.ofSeconds(conf.getTimeAsSeconds(SLOTS_TIMEOUT, "30s"));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    SLOTS_TIMEOUT + "=" + text + ": expected a time such as 30s; 0 does not wait", e);
        }
    }

    /**
     * Returns when the cluster can run all tasks of the barrier stage together. Waits for executors, which register
     * some time after the application has started. Without this wait Spark's own check would fail, and Spark would
     * repeat it only after 15 seconds.
     *
     * @throws IllegalArgumentException if the stage cannot start
     */
    void requireStartable(RDD<?> rdd) {
        SparkContext context = rdd.sparkContext();
        int ranks = rdd.getNumPartitions();
        if (ranks == 0) {
            throw new IllegalArgumentException(
                    "partitions=0: expected 1 or more, one for each rank; an empty RDD needs repartition(n)");
        }
        if (context.getConf().getBoolean(DYNAMIC_ALLOCATION, false) && !context.isLocal()) {
            throw new IllegalArgumentException(DYNAMIC_ALLOCATION
                    + "=true: expected false, because Spark starts all tasks of a barrier stage at once; set "
                    + DYNAMIC_ALLOCATION + "=false and spark.executor.instances or spark.cores.max");
        }
        ResourceProfile assigned = rdd.getResourceProfile();
        ResourceProfile profile =
                assigned == null ? context.resourceProfileManager().defaultResourceProfile() : assigned;
        long deadline = System.nanoTime() + slotsTimeout.toNanos();
        int slots = context.maxNumConcurrentTasks(profile);
        if (slots < ranks) {
            LOG.info("A barrier stage of {} tasks waits {} for slots; there are {}", ranks, slotsTimeout, slots);
        }
        while (slots < ranks) {
            if (System.nanoTime() > deadline) {
                throw new IllegalArgumentException("partitions=" + ranks + " slots=" + slots
                        + ": expected as many slots as partitions within " + SLOTS_TIMEOUT + "="
                        + slotsTimeout.toSeconds()
                        + "s, because the tasks of a barrier stage run at the same time; use repartition("
                        + Math.max(slots, 1)
                        + "), or more executors or cores");
            }
            sleep();
            slots = context.maxNumConcurrentTasks(profile);
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for slots of a barrier stage", e);
        }
    }

    /** Returns the value; throws an exception if it is null. */
    static <V> V required(String name, V value, String expected) {
        if (value == null) {
            throw new IllegalArgumentException(name + "=null: expected " + expected);
        }
        return value;
    }
}
