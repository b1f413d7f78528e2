package io.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.jccl.CommunicationTimeoutException;
import io.jccl.UniqueId;
import io.jccl.testing.Resources;
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
 * Many ranks come together, as threads of this JVM; {@code -Djccl.scale.ranks=8,64,1024} for other numbers than those
 * of every build, {@code -Djccl.scale.late.seconds=30} for ranks that start over so long. docs/scale.md has a table of
 * what this prints.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BootstrapScaleTest {

    private static final Duration LIMIT = Duration.ofSeconds(20);

    private static final Duration LIMIT_IF_BUSY = Duration.ofSeconds(100);

    /** More ranks than this share threads and selectors: a process may have too few descriptors for one each. */
    private static final int OWN_THREADS = 1024;

    private static final int SHARED_THREADS = 4;

    /** What a rank's part costs beside its bytes: frames, numbers of the table, heartbeats meanwhile. */
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

    /** What a communicator's initialisation gathers: sizes and similarities are those of 8 processes on each host. */
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

        /** Text that no other rank or host has. */
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

    /** On a machine that is busy with other things, ranks are slow but not dead. */
    private static BootstrapOptions options() {
        return Ranks.options().withInitTimeout(LIMIT_IF_BUSY).withHeartbeat(Duration.ofMillis(500), LIMIT_IF_BUSY);
    }

    /** The parts that a rank has got wrong; most ranks look at few: to compare all takes longer than a gather. */
    private static int wrong(Bootstrap rank, byte[][] parts) {
        List<byte[]> gathered = rank.outOfBand().allGather(parts[rank.rank()], LIMIT_IF_BUSY);
        int wrong = gathered.size() == parts.length ? 0 : 1;
        int step = rank.rank() % 64 == 0 ? 1 : 61;
        for (int peer = rank.rank() % step; peer < parts.length; peer += step) {
            wrong += Arrays.equals(gathered.get(peer), parts[peer]) ? 0 : 1;
        }
        return wrong;
    }

    /** A line for each rank, written to a file, is no part of what is measured. */
    @BeforeAll
    static void quiet() {
        ((Logger) LoggerFactory.getLogger("io.jccl")).setLevel(Level.INFO);
    }

    @AfterAll
    static void asBefore() {
        ((Logger) LoggerFactory.getLogger("io.jccl")).setLevel(null);
    }

    @Test
    void ranksMeetExchangeAndLeaveInTime() throws Exception {
        for (int size : sizes()) {
            List<Reactor> shared = new ArrayList<>();
            for (int i = 0; i < SHARED_THREADS && size > OWN_THREADS; i++) {
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
                .as("processor time until %d ranks are ready, which two cores have in %s", size, LIMIT)
                .isLessThan(LIMIT.multipliedBy(2));
    }

    /** Ranks of a slow cluster come one after the other: the server's log stays short, and no rank gives up. */
    @Test
    void ranksThatComeLateAreWaitedFor() throws Exception {
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

    /** Every 50th rank and the last one are missing: all that came name the same ranks, in a readable message. */
    @Test
    void missingRanksAreNamedByAllThatCame() throws Exception {
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
