package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Record;
import ai.djl.util.Progress;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DistributedSamplerTest {

    private int epoch;

    private DistributedSampler sampler(int batchSize, boolean shuffled, int rank, int ranks) {
        return new DistributedSampler(batchSize, shuffled, 5, () -> rank, () -> ranks, () -> epoch);
    }

    private static List<List<Long>> batches(DistributedSampler sampler, long size) {
        List<List<Long>> batches = new ArrayList<>();
        sampler.sample(new Numbers(size)).forEachRemaining(batches::add);
        return batches;
    }

    private List<List<List<Long>>> batchesOfAllRanks(int batchSize, boolean shuffled, int ranks, long size) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> batches(sampler(batchSize, shuffled, rank, ranks), size))
                .toList();
    }

    @Test
    void eachRankTakesItsBlockOfEveryGlobalBatch() {
        assertThat(batchesOfAllRanks(2, false, 2, 8))
                .containsExactly(List.of(List.of(0L, 1L), List.of(4L, 5L)), List.of(List.of(2L, 3L), List.of(6L, 7L)));
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 7", "4, 2, 64", "4, 2, 61", "4, 3, 61", "32, 3, 100", "8, 5, 3", "8, 3, 0"})
    void ranksGetEqualNumbersOfSamplesAndTogetherTheWholeDataset(int batchSize, int ranks, long size) {
        List<List<List<Long>>> all = batchesOfAllRanks(batchSize, true, ranks, size);

        List<Integer> sizes = all.get(0).stream().map(List::size).toList();
        assertThat(all).allSatisfy(batches -> assertThat(batches.stream().map(List::size))
                .containsExactlyElementsOf(sizes));
        assertThat(sizes).allMatch(each -> each >= 1 && each <= batchSize);
        assertThat(sizes).hasSize(sampler(batchSize, true, 0, ranks).batches(new Numbers(size)));
        List<Long> seen =
                all.stream().flatMap(List::stream).flatMap(List::stream).toList();
        assertThat(seen).containsAll(LongStream.range(0, size).boxed().toList());
        assertThat(seen.size() - size).isBetween(0L, ranks - 1L);
    }

    @Test
    void orderChangesOnlyWithTheEpoch() {
        List<List<List<Long>>> first = batchesOfAllRanks(4, true, 2, 64);
        assertThat(batchesOfAllRanks(4, true, 2, 64)).isEqualTo(first);

        epoch = 1;
        assertThat(batchesOfAllRanks(4, true, 2, 64)).isNotEqualTo(first);
    }

    @Test
    void globalBatchesEqualThoseOfOneProcess() {
        List<List<Long>> alone = batches(sampler(8, true, 0, 1), 60);
        List<List<List<Long>>> together = batchesOfAllRanks(4, true, 2, 60);

        for (int i = 0; i < alone.size(); i++) {
            List<Long> global = new ArrayList<>(together.get(0).get(i));
            global.addAll(together.get(1).get(i));
            assertThat(global).isEqualTo(alone.get(i));
        }
    }

    @Test
    void batchSizeOfZeroIsRefusedAndAnEmptyDatasetHasNoBatches() {
        assertThatThrownBy(() -> sampler(0, true, 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("batchSize=0: expected 1 or more");
        Iterator<List<Long>> empty = sampler(1, true, 0, 1).sample(new Numbers(0));
        assertThat(empty).isExhausted();
        assertThatThrownBy(empty::next).isInstanceOf(NoSuchElementException.class);
    }

    /** A dataset of {@code size} records, which the tests do not read. */
    private static final class Numbers extends RandomAccessDataset {

        private final long size;

        Numbers(long size) {
            super(new Builder());
            this.size = size;
        }

        @Override
        public Record get(NDManager manager, long index) {
            throw new UnsupportedOperationException();
        }

        @Override
        protected long availableSize() {
            return size;
        }

        @Override
        public void prepare(Progress progress) {}

        private static final class Builder extends BaseBuilder<Builder> {

            Builder() {
                setSampling(1, false);
            }

            @Override
            protected Builder self() {
                return this;
            }
        }
    }
}
