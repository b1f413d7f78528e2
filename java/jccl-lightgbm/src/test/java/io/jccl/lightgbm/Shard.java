package io.jccl.lightgbm;

import java.util.SplittableRandom;

/**
 * A rank's rows of a data set for binary classification, computed from the numbers of the rows.
 *
 * @param rows number of rows of all ranks together
 */
record Shard(int rank, int size, int rows, int columns) {

    private static final int VALUES = 200; // different values of a feature, and so its number of bins

    /** Consumes a row. */
    @FunctionalInterface
    interface RowConsumer {
        void accept(int row, double[] features, float label);
    }

    int localRows() {
        return rows / size;
    }

    void forEach(RowConsumer consumer) {
        double[] features = new double[columns];
        for (int row = 0; row < localRows(); row++) {
            SplittableRandom random = new SplittableRandom(31L * (rank * localRows() + row));
            double score = random.nextDouble() - 0.5;
            for (int i = 0; i < columns; i++) {
                features[i] = random.nextInt(VALUES) * 2.0 / VALUES - 1;
                if (i < 10) {
                    score += features[i] * (i % 3 - 1) + (i == 4 ? features[i] * features[i] : 0);
                }
            }
            consumer.accept(row, features, score > 0 ? 1 : 0);
        }
    }
}
