package io.jccl.djl;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.function.IntSupplier;

/**
 * Gives each rank its part of every global batch of a dataset that all ranks have:
 * {@code dataset.setSampling(sampler)}.
 *
 * <p>All ranks get the same number of batches, of equal sizes. A global batch consists of {@code ranks * batchSize}
 * consecutive samples in the order of the epoch, of which rank {@code r} takes the {@code r}-th block. The last global
 * batch contains the rest of the dataset. If the rest is not a multiple of the number of ranks, samples from the
 * beginning of the epoch fill it up, so that fewer samples than ranks occur twice. An epoch of one process with batches
 * of {@code ranks * batchSize} has the same global batches.
 *
 * <p>A shuffled order depends only on the seed and the number of the epoch, which are the same on all ranks. Rank,
 * number of ranks and epoch are those of the {@link DataParallel} at the beginning of an epoch.
 */
public final class DistributedSampler implements Sampler {

    private final int batchSize;
    private final boolean shuffled;
    private final long seed;
    private final IntSupplier rank;
    private final IntSupplier ranks;
    private final IntSupplier epoch;

    DistributedSampler(
            int batchSize, boolean shuffled, long seed, IntSupplier rank, IntSupplier ranks, IntSupplier epoch) {
        if (batchSize < 1) {
            throw new IllegalArgumentException("batchSize=" + batchSize + ": expected 1 or more samples for each rank");
        }
        this.batchSize = batchSize;
        this.shuffled = shuffled;
        this.seed = seed;
        this.rank = rank;
        this.ranks = ranks;
        this.epoch = epoch;
    }

    /** Returns the indices of this rank's samples in each batch of an epoch. */
    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        return new Batches(order(dataset.size()), rank.getAsInt(), ranks.getAsInt());
    }

    /** Returns the number of batches that each rank gets from a dataset in an epoch. */
    public int batches(RandomAccessDataset dataset) {
        long global = (long) batchSize * ranks.getAsInt();
        return Math.toIntExact((dataset.size() + global - 1) / global);
    }

    /** Returns the number of samples that a rank takes of each global batch except the last. */
    @Override
    public int getBatchSize() {
        return batchSize;
    }

    private int[] order(long size) {
        int[] order = new int[Math.toIntExact(size)];
        for (int i = 0; i < order.length; i++) {
            order[i] = i;
        }
        if (shuffled) {
            Random random = new Random(seed + 0x9e3779b97f4a7c15L * epoch.getAsInt());
            for (int i = order.length - 1; i > 0; i--) {
                int other = random.nextInt(i + 1);
                int swapped = order[i];
                order[i] = order[other];
                order[other] = swapped;
            }
        }
        return order;
    }

    private final class Batches implements Iterator<List<Long>> {

        private final int[] order;
        private final int rank;
        private final int ranks;
        private int next; // where the next global batch begins in the order

        Batches(int[] order, int rank, int ranks) {
            this.order = order;
            this.rank = rank;
            this.ranks = ranks;
        }

        @Override
        public boolean hasNext() {
            return next < order.length;
        }

        @Override
        public List<Long> next() {
            if (!hasNext()) {
                throw new NoSuchElementException(
                        "batch=" + next / ((long) batchSize * ranks) + ": the epoch has no more");
            }
            int size = Math.min(batchSize, (order.length - next + ranks - 1) / ranks);
            List<Long> batch = new ArrayList<>(size);
            for (long at = next + (long) rank * size; batch.size() < size; at++) {
                batch.add((long) order[(int) (at % order.length)]);
            }
            next = (int) Math.min(order.length, next + (long) size * ranks);
            return batch;
        }
    }
}
