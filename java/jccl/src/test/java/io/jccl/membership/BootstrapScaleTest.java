package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.jccl.CommunicationTimeoutException;
import io.jccl.UniqueId;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.testing.Resources;
import io.jccl.wire.RankList;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/**
 * Lets many ranks, as threads of this JVM, join a group, gather and leave. {@code -Djccl.scale.ranks=8,64,1024} sets
 * the numbers of ranks; {@code -Djccl.scale.late.seconds=30} sets the time over which late ranks start. docs/scale.md
 * has a table of the printed results.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BootstrapScaleTest {

    private static final Duration LIMIT = Duration.ofSeconds(20);

    private static final Duration LIMIT_IF_BUSY = Duration.ofSeconds(100);

    /**
     * If there are more ranks, they share reactors: a process may have too few descriptors for a selector of each rank.
     */
    private static final int MAX_OWN_REACTORS = 1024;

    private static final int SHARED_REACTORS = 4;

    /**
     * Bytes allowed for each rank in addition to its part: frames, the numbers in the encoded table, and heartbeats
     * during the gather.
     */
    private static final int FRAME_BYTES = 256;

    private static List<Integer> sizes() {
        return List.of(System.getProperty("jccl.scale.ranks", "128").split(",")).stream()
                .map(Integer::valueOf)
                .toList();
    }

    private static double millisSince(long start) {
        return (System.nanoTime() - start) / 1e6;
    }

    private static Duration processorTime() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow();
    }

    /**
     * The gathers of a communicator's initialisation: parts are as long and as similar as on hosts with 8 processes
     * each. {@code NOISE} is an additional gather of parts without any similarity.
     */
    private enum Gather {
        SETTINGS {
            @Override
            byte[] part(int rank) {
                return text("JCCL_SETTING=\"value of all ranks\" ".repeat(40)).toBytes();
            }
        },
        PEERS {
            @Override
            byte[] part(int rank) {
                return text(unique(rank / 8, 36), "network namespace net:[4026531840], user 1000", unique(rank, 40))
                        .text("0-127", 100)
                        .text(unique(rank, 48), 100)
                        .text(unique(rank, 48), 100)
                        .toBytes();
            }
        },
        SURVEYS {
            @Override
            byte[] part(int rank) {
                WireWriter out = text("x".repeat(75));
                for (int i = 0; i < 64 && rank % 8 == 0; i++) {
                    out.i32(rank + i % 8);
                }
                return out.toBytes();
            }
        },
        ADDRESSES {
            @Override
            byte[] part(int rank) {
                return text("v1 sockets ", unique(rank / 8, 16), unique(rank, 24))
                        .toBytes();
            }
        },
        TRANSPORTS {
            @Override
            byte[] part(int rank) {
                return new WireWriter()
                        .u8(3)
                        .i32(rank / 8 * 8)
                        .u8(1)
                        .i32(8)
                        .u8(3)
                        .toBytes();
            }
        },
        BARRIER {
            @Override
            byte[] part(int rank) {
                return new byte[0];
            }
        },
        NOISE {
            @Override
            byte[] part(int rank) {
                byte[] part = new byte[256];
                new Random(rank).nextBytes(part);
                return part;
            }
        };

        abstract byte[] part(int rank);

        /** Returns a text that depends on the seed: a rank or host number makes it unique. */
        static String unique(int seed, int chars) {
            Random random = new Random(seed);
            return random.ints(chars, 'a', 'z')
                    .mapToObj(c -> String.valueOf((char) c))
                    .collect(Collectors.joining());
        }

        static WireWriter text(String... texts) {
            WireWriter out = new WireWriter();
            for (String text : texts) {
                out.text(text, 2000);
            }
            return out;
        }
    }

    private static Bootstrap join(UniqueId id, int rank, int size, List<Reactor> shared) {
        Reactor reactor = shared.isEmpty() ? null : shared.get(rank % shared.size());
        return Bootstrap.join(id, rank, size, options(), reactor);
    }

    /** Returns options with long time limits: on a busy machine ranks are slow but not dead. */
    private static BootstrapOptions options() {
        return Ranks.options().withInitTimeout(LIMIT_IF_BUSY).withHeartbeat(Duration.ofMillis(500), LIMIT_IF_BUSY);
    }

    /**
     * Gathers, and returns the number of parts that the rank received wrongly. Most ranks compare only a few parts,
     * because comparing all of them takes longer than the gather.
     */
    private static int wrong(Bootstrap rank, byte[][] parts) {
        List<byte[]> gathered = rank.outOfBand().allGather(parts[rank.rank()], LIMIT_IF_BUSY);
        int wrong = gathered.size() == parts.length ? 0 : 1;
        int step = rank.rank() % 64 == 0 ? 1 : 61;
        for (int peer = rank.rank() % step; peer < parts.length; peer += step) {
            wrong += Arrays.equals(gathered.get(peer), parts[peer]) ? 0 : 1;
        }
        return wrong;
    }

    /** Keeps the log line of each rank, which goes to a file, out of the measurement. */
    @BeforeAll
    static void quiet() {
        ((Logger) LoggerFactory.getLogger("io.jccl")).setLevel(Level.INFO);
    }

    @AfterAll
    static void restoreLogLevel() {
        ((Logger) LoggerFactory.getLogger("io.jccl")).setLevel(null);
    }

    @Test
    void ranksMeetExchangeAndLeaveInTime() throws Exception {
        for (int size : sizes()) {
            List<Reactor> shared = new ArrayList<>();
            for (int i = 0; i < SHARED_REACTORS && size > MAX_OWN_REACTORS; i++) {
                shared.add(new Reactor("shared-" + i, System::nanoTime));
                shared.get(i).start();
            }
            ExecutorService threads = Executors.newFixedThreadPool(size);
            try {
                meetExchangeAndLeave(size, shared, threads);
            } finally {
                threads.shutdownNow();
                shared.forEach(Reactor::close);
            }
        }
    }

    private static void meetExchangeAndLeave(int size, List<Reactor> shared, ExecutorService threads) throws Exception {
        double bits = Math.ceil(Math.log(size) / Math.log(2));
        RendezvousServer.Started rendezvous = RendezvousServer.open(options());
        List<Callable<Bootstrap>> joining = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int mine = rank;
            joining.add(() -> join(rendezvous.id(), mine, size, shared));
        }
        Duration idle = processorTime();
        long start = System.nanoTime();
        List<Bootstrap> group = Ranks.values(Ranks.together(threads, joining));
        double total = millisSince(start);
        Bootstrap zero = group.get(0);
        long joinBytes = rendezvous.server().sentBytes() + zero.sentAsCoordinator();
        Duration processor = processorTime().minus(idle);
        System.out.printf(
                "bootstrap ranks=%d step=JOIN ms=%.0f processor_ms=%d sent_bytes=%d%n",
                size, total, processor.toMillis(), joinBytes);
        assertThat(joinBytes).as("bytes of rank 0 until all have met").isLessThan((long) (FRAME_BYTES * size * bits));
        for (Gather gather : Gather.values()) {
            byte[][] parts = new byte[size][];
            long longest = 0;
            for (int rank = 0; rank < size; rank++) {
                parts[rank] = gather.part(rank);
                longest = Math.max(longest, parts[rank].length);
            }
            List<Callable<Integer>> tasks = new ArrayList<>();
            group.forEach(rank -> tasks.add(() -> wrong(rank, parts)));
            long before = zero.sentAsCoordinator();
            idle = processorTime();
            start = System.nanoTime();
            List<Integer> wrong = Ranks.values(Ranks.together(threads, tasks));
            double took = millisSince(start);
            Duration busy = processorTime().minus(idle);
            long sent = zero.sentAsCoordinator() - before;
            System.out.printf(
                    "bootstrap ranks=%d step=%s longest_part=%d ms=%.0f processor_ms=%d sent_bytes=%d%n",
                    size, gather, longest, took, busy.toMillis(), sent);
            assertThat(wrong).containsOnly(0);
            assertThat(sent).as("bytes of rank 0 in %s", gather).isLessThan((long)
                    ((longest + FRAME_BYTES) * size * bits));
            if (gather != Gather.NOISE) {
                total += took;
                processor = processor.plus(busy);
            }
        }
        Resources.Snapshot inside = Resources.now();
        List<Callable<Object>> closing = new ArrayList<>();
        group.forEach(rank -> closing.add(() -> {
            rank.close();
            return rank;
        }));
        start = System.nanoTime();
        Ranks.values(Ranks.together(threads, closing));
        System.out.printf(
                "bootstrap ranks=%d ready_ms=%.0f processor_ms=%d close_ms=%.0f descriptors=%d threads=%d%n",
                size,
                total,
                processor.toMillis(),
                millisSince(start),
                inside.descriptors(),
                inside.threads().size());
        assertThat(processor)
                .as("CPU time until %d ranks are ready; two cores provide twice %s", size, LIMIT)
                .isLessThan(LIMIT.multipliedBy(2));
    }

    /** Ranks of a slow cluster join one after the other, and no rank gives up. */
    @Test
    void ranksWaitForRanksThatJoinLate() throws Exception {
        int size = 24;
        long spanMillis = 1000L * Integer.getInteger("jccl.scale.late.seconds", 3);
        BootstrapOptions options = Ranks.options().withInitTimeout(Ranks.SOON.plusMillis(spanMillis));
        UniqueId id = Bootstrap.createId(options);
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int mine = rank;
            tasks.add(() -> {
                Thread.sleep(mine == 0 ? spanMillis : mine * spanMillis / size); // rank 0 is the last
                return Bootstrap.join(id, mine, size, options);
            });
        }
        List<Bootstrap> group = Ranks.values(Ranks.together(tasks));
        assertThat(Ranks.onAll(group, rank -> rank.outOfBand()
                        .allGather(new byte[1], Ranks.SOON)
                        .size()))
                .containsOnly(size);
        Ranks.close(group);
    }

    /** Every 50th rank and the last one are missing: all other ranks name the missing ones in a readable message. */
    @Test
    void everyRankThatJoinsNamesTheMissingRanks() throws Exception {
        for (int size : sizes()) {
            Duration timeLimit = Duration.ofMillis(2000 + 6L * size);
            BootstrapOptions options = Ranks.options().withInitTimeout(timeLimit);
            UniqueId id = Bootstrap.createId(options);
            Set<Integer> absent = IntStream.range(1, size)
                    .filter(rank -> rank % 50 == 49 || rank == size - 1)
                    .boxed()
                    .collect(Collectors.toCollection(TreeSet::new));
            List<Callable<Bootstrap>> tasks = new ArrayList<>();
            for (int rank = 0; rank < size; rank++) {
                int mine = rank;
                if (!absent.contains(rank)) {
                    tasks.add(() -> Bootstrap.join(id, mine, size, options));
                }
            }
            long start = System.nanoTime();
            List<Ranks.Outcome<Bootstrap>> outcomes = Ranks.together(tasks);
            double took = millisSince(start);
            System.out.printf(
                    "missing ranks=%d absent=%d timeout_ms=%d ended_ms=%.0f message_chars=%d%n",
                    size,
                    absent.size(),
                    timeLimit.toMillis(),
                    took,
                    outcomes.get(0).error().getMessage().length());
            for (Ranks.Outcome<Bootstrap> outcome : outcomes) {
                assertThat(outcome.error())
                        .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                                .isEqualTo(absent))
                        .hasMessageStartingWith(RankList.subject(absent) + " did not join within ")
                        .hasMessageContaining("(" + (size - absent.size()) + " of " + size + " arrived)");
            }
            assertThat(took).isLessThan(timeLimit.toMillis() + LIMIT.toMillis());
        }
    }
}
