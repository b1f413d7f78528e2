package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks close communicators in different orders and at different times. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CloseOrderTest {

    /** Below every time limit that a close has. */
    private static final Duration LIMIT = Duration.ofMillis(900L * LocalRanks.SLOWNESS);

    private static final int COMMUNICATORS = 4;

    @TempDir
    Path folder;

    @Test
    void noOrderOfClosingWaitsForATimeLimit() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(world -> {
                List<List<Integer>> orders = new ArrayList<>();
                permute(new ArrayList<>(), orders);
                for (List<Integer> order : orders) {
                    close(world, world.rank() == 0 ? order : orders.get(0));
                }
            });
        }
    }

    @Test
    void moreRanksCloseEachInItsOwnOrder() {
        try (LocalRanks ranks = LocalRanks.start(4)) {
            ranks.run(world -> {
                for (int round = 0; round < 5; round++) {
                    List<Integer> order = new ArrayList<>(List.of(0, 1, 2, 3));
                    Collections.shuffle(order, new Random(10 * round + world.rank()));
                    close(world, order);
                }
            });
        }
    }

    /** Splits communicators in which each rank is rank 0 in turn, and closes them in the given order. */
    private static void close(Communicator world, List<Integer> order) {
        List<Communicator> all = new ArrayList<>();
        for (int i = 0; i < COMMUNICATORS; i++) {
            all.add(world.split(0, (world.rank() + i) % world.size()).orElseThrow());
        }
        all.forEach(one -> one.barrier().await());
        world.barrier().await();
        long start = System.nanoTime();
        order.forEach(i -> all.get(i).close());
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        world.barrier().await();
        assertThat(took).as("rank %d, order %s", world.rank(), order).isLessThan(LIMIT);
    }

    private static void permute(List<Integer> begin, List<List<Integer>> orders) {
        if (begin.size() == COMMUNICATORS) {
            orders.add(begin);
        }
        for (int i = 0; i < COMMUNICATORS; i++) {
            if (!begin.contains(i)) {
                List<Integer> longer = new ArrayList<>(begin);
                longer.add(i);
                permute(longer, orders);
            }
        }
    }

    @ParameterizedTest(name = "by {0}")
    @ValueSource(strings = {"return", "exit"})
    void theProcessOfRank0EndsAfterTheOthersHaveClosed(String end) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(UniqueId.create(), folder, 2, rank -> List.of(), "close", end)) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LocalRanks.TIMEOUT))
                        .as(ranks.allOutput())
                        .isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
        }
    }
}
