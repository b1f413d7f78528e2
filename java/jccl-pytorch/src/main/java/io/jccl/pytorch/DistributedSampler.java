package io.jccl.pytorch;

import io.jccl.Communicator;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Random;

/**
 * Gives each rank its share of a dataset that all ranks can read, as {@code torch.utils.data.DistributedSampler}.
 *
 * <pre>{@code
 * DistributedSampler sampler = DistributedSampler.builder(comm, x.size(0)).seed(7).build();
 * for (int epoch = 0; epoch < 10; epoch++) {
 *     sampler.setEpoch(epoch);
 *     for (long[] batch : sampler.batches(32)) {
 *         Tensor samples = x.index_select(0, torch.tensor(batch));
 *     }
 * }
 * }</pre>
 *
 * <p>All ranks get the same number of samples. Rank {@code r} of {@code n} takes every {@code n}-th sample in the order of
 * the epoch, from the {@code r}-th on. So batches of {@code b} samples on {@code n} ranks are together the batches of one
 * process with {@code n * b} samples. Samples from the beginning of the order are repeated until each rank has as many, or
 * with {@link Builder#dropLast} samples at the end are left out.
 *
 * <p>The order depends only on the seed and the number of the epoch, which must be the same on all ranks.
 */
public final class DistributedSampler {

    private final Communicator comm;
    private final int size;
    private final boolean shuffle;
    private final long seed;
    private final boolean dropLast;
    private int epoch;

    private DistributedSampler(Builder builder) {
        this.comm = builder.comm;
        this.size = builder.size;
        this.shuffle = builder.shuffle;
        this.seed = builder.seed;
        this.dropLast = builder.dropLast;
    }

    /**
     * Returns a builder.
     *
     * @param comm the ranks among which the dataset is divided
     * @param size number of samples in the dataset, at least 1
     */
    public static Builder builder(Communicator comm, long size) {
        return new Builder(comm, size);
    }

    /** Sets the number of the epoch, which changes the order. Call this before each epoch, on all ranks. */
    public void setEpoch(int epoch) {
        this.epoch = epoch;
    }

    /** Returns the number of samples of each rank in an epoch. */
    public int samples() {
        return dropLast ? size / comm.size() : (size + comm.size() - 1) / comm.size();
    }

    /** Returns the indices of this rank's samples in the current epoch. */
    public long[] indices() {
        int[] order = order();
        long[] mine = new long[samples()];
        for (int i = 0; i < mine.length; i++) {
            mine[i] = order[(int) (((long) i * comm.size() + comm.rank()) % size)];
        }
        return mine;
    }

    /**
     * Returns the indices of this rank's samples in batches. All ranks get the same number of batches, of the same sizes.
     *
     * @param batchSize number of samples of this rank in a batch, at least 1; the last batch can have fewer
     */
    public Iterable<long[]> batches(int batchSize) {
        if (batchSize < 1) {
            throw new IllegalArgumentException("batchSize=" + batchSize + ": expected 1 or more samples for each rank");
        }
        return () -> new Batches(indices(), batchSize);
    }

    private int[] order() {
        int[] order = new int[size];
        for (int i = 0; i < size; i++) {
            order[i] = i;
        }
        if (shuffle) {
            Random random = new Random(seed + 0x9e3779b97f4a7c15L * epoch);
            for (int i = size - 1; i > 0; i--) {
                int other = random.nextInt(i + 1);
                int swapped = order[i];
                order[i] = order[other];
                order[other] = swapped;
            }
        }
        return order;
    }

    private static final class Batches implements Iterator<long[]> {

        private final long[] indices;
        private final int batchSize;
        private int next;

        Batches(long[] indices, int batchSize) {
            this.indices = indices;
            this.batchSize = batchSize;
        }

        @Override
        public boolean hasNext() {
            return next < indices.length;
        }

        @Override
        public long[] next() {
            if (!hasNext()) {
                throw new NoSuchElementException("batch=" + next / batchSize + ": the epoch has no more");
            }
            long[] batch = Arrays.copyOfRange(indices, next, (int) Math.min((long) next + batchSize, indices.length));
            next += batch.length;
            return batch;
        }
    }

    /** Options of a {@link DistributedSampler}, which must be the same on all ranks. */
    public static final class Builder {

        private final Communicator comm;
        private final int size;
        private boolean shuffle = true;
        private long seed;
        private boolean dropLast;

        private Builder(Communicator comm, long size) {
            if (comm == null) {
                throw new IllegalArgumentException("comm=null: expected a communicator");
            }
            if (size < 1 || size > Integer.MAX_VALUE) {
                throw new IllegalArgumentException(
                        "size=" + size + ": expected 1 to " + Integer.MAX_VALUE + " samples");
            }
            this.comm = comm;
            this.size = (int) size;
        }

        /** Sets whether each epoch has an order of its own. If not, samples are in the order of the dataset. True unless set. */
        public Builder shuffle(boolean shuffle) {
            this.shuffle = shuffle;
            return this;
        }

        /** Sets the seed of the order; 0 unless set. */
        public Builder seed(long seed) {
            this.seed = seed;
            return this;
        }

        /**
         * Sets whether samples at the end of the order, fewer than there are ranks, are left out. If not, samples from the
         * beginning are repeated. False unless set.
         */
        public Builder dropLast(boolean dropLast) {
            this.dropLast = dropLast;
            return this;
        }

        /** Creates the {@link DistributedSampler}. */
        public DistributedSampler build() {
            return new DistributedSampler(this);
        }
    }
}
