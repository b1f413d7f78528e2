package io.jccl.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.ml.linalg.DenseVector;
import org.apache.spark.ml.linalg.SparseVector;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.sql.Row;
import org.jspecify.annotations.Nullable;

/** The rows of a rank, kept in memory: features and labels. */
final class LabeledRows implements Iterable<LabeledRows.LabeledRow> {

    private final List<LabeledRow> rows = new ArrayList<>();
    private int features;
    private long positive;

    private LabeledRows() {}

    /**
     * One row.
     *
     * @param label 0 or 1
     * @param indices the features to which the values belong; null if there is a value for each feature
     * @param values values of the features
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record LabeledRow(double label, int @Nullable [] indices, double[] values) {

        /** Returns the dot product of the features and {@code factors}. */
        double dot(double[] factors) {
            double sum = 0;
            if (indices == null) {
                for (int i = 0; i < values.length; i++) {
                    sum += values[i] * factors[i];
                }
            } else {
                for (int i = 0; i < values.length; i++) {
                    sum += values[i] * factors[indices[i]];
                }
            }
            return sum;
        }

        /**
         * Adds the squared distance of each value from its feature's mean to {@code squares}, and adds the number of
         * values of each feature to {@code counts}.
         */
        void addSquaredDistances(double[] squares, long[] counts, double[] means) {
            for (int i = 0; i < values.length; i++) {
                int feature = indices == null ? i : indices[i];
                double distance = values[i] - means[feature];
                squares[feature] += distance * distance;
                counts[feature]++;
            }
        }

        /** Adds the features times {@code factor} to {@code sums}. */
        void addTo(double[] sums, double factor) {
            if (indices == null) {
                for (int i = 0; i < values.length; i++) {
                    sums[i] += factor * values[i];
                }
            } else {
                for (int i = 0; i < values.length; i++) {
                    sums[indices[i]] += factor * values[i];
                }
            }
        }
    }

    /**
     * Reads rows of two columns, a vector and a label.
     *
     * @throws IllegalArgumentException if a row has other types, a label other than 0 or 1, or another number of
     *     features than the first
     */
    static LabeledRows read(Iterator<Row> source) {
        LabeledRows read = new LabeledRows();
        while (source.hasNext()) {
            Row row = source.next();
            if (!(row.get(0) instanceof Vector vector)) {
                throw new IllegalArgumentException(
                        "features=" + row.get(0) + ": expected a vector of MLlib; use VectorAssembler");
            }
            read.add(vector, row.isNullAt(1) ? Double.NaN : row.getDouble(1));
        }
        return read;
    }

    private void add(Vector vector, double label) {
        if (label != 0 && label != 1) {
            throw new IllegalArgumentException("label=" + label + ": expected 0 or 1");
        }
        if (rows.isEmpty()) {
            features = vector.size();
        }
        requireSize(vector.size(), features);
        positive += (long) label;
        rows.add(
                vector instanceof SparseVector sparse
                        ? new LabeledRow(label, sparse.indices(), sparse.values())
                        : new LabeledRow(label, null, ((DenseVector) vector).values()));
    }

    /** Returns the size of the feature vectors; 0 if there are no rows. */
    int features() {
        return features;
    }

    /** Returns the number of rows. */
    long count() {
        return rows.size();
    }

    /** Returns the number of rows whose label is 1. */
    long positive() {
        return positive;
    }

    /** Throws an exception if this rank has vectors of another size than the other ranks. */
    void requireFeatures(int size) {
        if (!rows.isEmpty()) {
            requireSize(features, size);
        }
    }

    private static void requireSize(int size, int expected) {
        if (size != expected) {
            throw new IllegalArgumentException("features=" + size + ": expected " + expected + " as in other rows");
        }
    }

    @Override
    public Iterator<LabeledRow> iterator() {
        return rows.iterator();
    }
}
