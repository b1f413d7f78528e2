package io.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicationTimeoutException;
import io.jccl.UniqueId;
import io.jccl.testing.Resources;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Many ranks come together, as threads of this JVM; {@code -Djccl.scale.ranks=8,64,1024} for other numbers than those
 * of every build, {@code -Djccl.scale.late.seconds=30} for ranks that start over so long. docs/scale.md has a table of
 * what this prints.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BootstrapScaleTest {

    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int EXCHANGES = 10;
    private static final int PART_BYTES = 256;

    private static List<Integer> sizes() {
        return List.of(System.getProperty("jccl.scale.ranks", "128").split(",")).stream()
                .map(Integer::valueOf)
                .toList();
    }

    private static double millisSince(long start) {
        return (System.nanoTime() - start) / 1e6;
    }

    @Test
    void ranksMeetExchangeAndLeaveInTime() throws Exception {
        for (int size : sizes()) {
            long start = System.nanoTime();
            List<Bootstrap> group = Ranks.join(size, Ranks.options());
            double joined = millisSince(start);
            Resources.Snapshot inside = Resources.now();
            start = System.nanoTime();
            Set<Integer> lengths = new TreeSet<>(Ranks.onAll(group, rank -> {
                int parts = 0;
                for (int i = 0; i < EXCHANGES; i++) {
                    parts += rank.outOfBand()
                            .allGather(new byte[PART_BYTES], Ranks.SOON)
                            .size();
                }
                return parts;
            }));
            double gathered = millisSince(start) / EXCHANGES;
            start = System.nanoTime();
            Ranks.close(group);
            System.out.printf(
                    "bootstrap ranks=%d join_ms=%.0f gather_of_%d_bytes_ms=%.2f close_ms=%.0f descriptors=%d threads=%d%n",
                    size, joined, PART_BYTES, gathered, millisSince(start), inside.descriptors(), inside.threads());
            assertThat(lengths).containsExactly(EXCHANGES * size);
            assertThat(joined).as("milliseconds until %d ranks have met", size).isLessThan(LIMIT.toMillis());
        }
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
