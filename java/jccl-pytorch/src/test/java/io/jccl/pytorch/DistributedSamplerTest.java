package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Communicator;
import io.jccl.LocalRanks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Tests of the indices that each rank gets. */
class DistributedSamplerTest {

    private static final int RANKS = 3;

    /** Returns what a sampler gives each of three ranks, in rank order. */
    private static List<List<long[]>> batches(int size, int batchSize, boolean shuffle, boolean dropLast, int epoch) {
        List<List<long[]>> all = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            all.add(new ArrayList<>());
        }
        LocalRanks.run(RANKS, comm -> {
            DistributedSampler sampler = DistributedSampler.builder(comm, size)
                    .shuffle(shuffle)
                    .seed(7)
                    .dropLast(dropLast)
                    .build();
            sampler.setEpoch(epoch);
            sampler.batches(batchSize).forEach(all.get(comm.rank())::add);
            assertThat(sampler.samples())
                    .isEqualTo(all.get(comm.rank()).stream()
                            .mapToInt(batch -> batch.length)
                            .sum());
        });
        return all;
    }

    private static long[] sorted(List<List<long[]>> all) {
        return all.stream()
                .flatMap(List::stream)
                .flatMapToLong(Arrays::stream)
                .sorted()
                .toArray();
    }

    @Test
    void ranksTakeTurnsInTheOrderOfTheDataset() {
        List<List<long[]>> all = batches(12, 2, false, false, 0);
        assertThat(all.get(0)).containsExactly(new long[] {0, 3}, new long[] {6, 9});
        assertThat(all.get(2)).containsExactly(new long[] {2, 5}, new long[] {8, 11});
    }

    @Test
    void samplesAreRepeatedUntilAllRanksHaveAsMany() {
        assertThat(sorted(batches(10, 4, false, false, 0))).containsExactly(0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        assertThat(sorted(batches(1, 4, false, false, 0))).containsExactly(0, 0, 0);
    }

    @Test
    void dropLastLeavesOutTheSamplesThatAreNotEnoughForAllRanks() {
        assertThat(sorted(batches(11, 4, false, true, 0))).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8);
        assertThat(sorted(batches(2, 4, false, true, 0))).isEmpty();
    }

    @Test
    void shuffledEpochsCoverAllSamplesInDifferentOrders() {
        List<List<long[]>> first = batches(30, 5, true, false, 0);
        List<List<long[]>> second = batches(30, 5, true, false, 1);
        long[] every = LongStream.range(0, 30).toArray();
        assertThat(sorted(first)).containsExactly(every);
        assertThat(sorted(second)).containsExactly(every);
        assertThat(first.get(0).get(0)).isNotEqualTo(second.get(0).get(0));
        assertThat(first.get(0).get(0))
                .containsExactly(batches(30, 5, true, false, 0).get(0).get(0));
    }

    @Test
    void wrongSizesAreRefused() {
        LocalRanks.run(1, (Communicator comm) -> {
            assertThatThrownBy(() -> DistributedSampler.builder(comm, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("size=0");
            assertThatThrownBy(() -> DistributedSampler.builder(comm, 5).build().batches(0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("batchSize=0");
        });
    }
}
