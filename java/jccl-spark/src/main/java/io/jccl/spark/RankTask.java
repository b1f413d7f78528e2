package io.jccl.spark;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import java.io.Serializable;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.resource.ResourceInformation;
import scala.Tuple2;
import scala.runtime.AbstractFunction1;

/**
 * A task of the barrier stage: initialises this rank's communicator, calls the function, and adds the rank to its
 * results.
 */
final class RankTask<T, R>
        extends AbstractFunction1<scala.collection.Iterator<T>, scala.collection.Iterator<Tuple2<Integer, R>>>
        implements Serializable {

    private static final long serialVersionUID = 1L;

    /** Spark's name for GPUs as a resource. */
    private static final String GPU = "gpu";

    private final TreeMap<String, String> settings;
    private final RankFunction<T, R> function;

    RankTask(TreeMap<String, String> settings, RankFunction<T, R> function) {
        this.settings = settings;
        this.function = function;
    }

    @Override
    public scala.collection.Iterator<Tuple2<Integer, R>> apply(scala.collection.Iterator<T> rows) {
        BarrierTaskContext context = BarrierTaskContext.get();
        Integer rank = context.partitionId();
        Communicator comm = initialise(context);
        try {
            Iterator<R> results = function.call(comm, ScalaIterators.toJava(rows));
            if (results == null) {
                throw new IllegalStateException("results=null: expected an iterator; return "
                        + "Collections.emptyIterator() from a rank without results");
            }
            return ScalaIterators.toScala(results, result -> new Tuple2<>(rank, result));
        } catch (Exception e) {
            throw sneaky(e);
        }
    }

    /**
     * Initialises a communicator with a unique id, which the task of partition 0 creates for each attempt of the stage.
     */
    private Communicator initialise(BarrierTaskContext context) {
        int ranks = context.numPartitions();
        int tasks = context.getTaskInfos().length;
        if (tasks != ranks) {
            // Some ranks' results of an earlier action are lost, and Spark repeats only the tasks of these ranks. After
            // this failure, Spark starts the whole stage again.
            throw new IllegalStateException("tasks=" + tasks + " partitions=" + ranks
                    + ": expected all tasks of the barrier stage; the next attempt has them");
        }
        CommunicatorConfig config = config(settings, context.resourcesJMap());
        TaskLife life = TaskLife.begin(context);
        String id = context.partitionId() == 0 ? UniqueId.create(config).toText() : "";
        UniqueId shared = UniqueId.parse(context.allGather(id)[0]);
        return life.initialise(() -> Communicator.init(shared, context.partitionId(), ranks, config));
    }

    /** Returns the communicator's configuration, with the first GPU that Spark has assigned to the task. */
    static CommunicatorConfig config(Map<String, String> settings, Map<String, ResourceInformation> resources) {
        CommunicatorConfig.Builder builder = CommunicatorConfig.builder();
        settings.forEach(builder::setting);
        ResourceInformation gpu = resources.get(GPU);
        if (gpu != null && gpu.addresses().length > 0 && !settings.containsKey("JCCL_DEVICE")) {
            String address = gpu.addresses()[0];
            try {
                builder.device(Integer.parseInt(address));
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(
                        "gpu=" + address + ": expected the number of a GPU as its address; "
                                + "correct what the discovery script of Spark's resource prints",
                        e);
            }
        }
        return builder.build();
    }

    /** Throws the function's own exception, so that it reaches Spark, which shows it to the user. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException sneaky(Throwable error) throws E {
        throw (E) error;
    }
}
