package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Tensor-parallel decoding of a transformer with random weights. Each rank has some heads of each attention and some
 * units of the hidden layer of each MLP, with their rows or columns of the weights and their part of the key-value
 * cache. Two all-reduces in each layer add up the results of all ranks. Then all ranks choose the same next token.
 */
public final class TensorParallel {

    private static final int[] PROMPT = {1, 2, 3, 4, 5};
    private static final double TOLERANCE = 1e-4;
    private static final double DEVIATION = 0.05; // standard deviation of the weights

    private TensorParallel() {}

    /** The size of a model. The hidden layer of an MLP has four times the width. */
    private record Shape(int layers, int heads, int headSize, int vocabulary, int positions) {

        int width() {
            return heads * headSize;
        }
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(TensorParallel.class, arguments);
        int layers = options.number("layers", 8, 1, 1000, "layers of the transformer");
        int heads = options.number("heads", 8, 1, 128, "heads of each attention, divided among the ranks");
        int headSize = options.number("head-size", 64, 1, 256, "elements of a head; times the heads: the width");
        int vocabulary = options.number("vocabulary", 512, PROMPT.length + 1, 1_000_000, "different tokens");
        int tokens = options.number("tokens", 64, PROMPT.length + 1, 1_000_000, "tokens to decode, with the prompt");
        boolean check = options.flag("check", "compare the logits with those of the model on one rank, and its time");
        options.check();
        Shape shape = new Shape(layers, heads, headSize, vocabulary, tokens);
        try (Communicator comm = Communicator.fromEnvironment()) {
            if (comm.size() > heads) {
                options.fail(comm, "heads=" + heads + ": expected at least the number of ranks, " + comm.size());
            }
            int[] sequence = Arrays.copyOf(PROMPT, tokens);
            float[][] logits = decode(comm, shape, sequence);
            long hash = Arrays.deepHashCode(logits);
            if (comm.allReduce(hash, ReduceOp.MIN) != comm.allReduce(hash, ReduceOp.MAX)) {
                throw new IllegalStateException("hash=" + hash + ": expected the same logits on all ranks");
            }
            print(comm, "ranks=%d: the same logits, hash %08x", comm.size(), hash & 0xffff_ffffL);
            print(comm, "tokens: %s", Arrays.toString(sequence));
            if (check) {
                boolean isFirst = comm.rank() == 0;
                comm.split(isFirst ? 0 : -1, 0).ifPresent(alone -> check(alone, shape, sequence, logits));
            }
        }
    }

    /** Decodes with the unsplit model on rank 0, over a communicator of one rank, and compares. */
    private static void check(Communicator communicator, Shape shape, int[] sequence, float[][] logits) {
        try (Communicator alone = communicator) {
            int[] own = Arrays.copyOf(PROMPT, sequence.length);
            float[][] expected = decode(alone, shape, own);
            double largest = 0;
            for (int t = 0; t < expected.length; t++) {
                for (int i = 0; i < shape.vocabulary; i++) {
                    largest = Math.max(largest, Math.abs(expected[t][i] - logits[t][i]));
                }
            }
            print(alone, "largest difference of a logit from one rank: %.1e", largest);
            if (!(largest <= TOLERANCE) || !Arrays.equals(sequence, own)) {
                throw new IllegalStateException(
                        "difference=" + largest + ": expected at most " + TOLERANCE + " and the same tokens");
            }
        }
    }

    /**
     * Fills the sequence after the prompt, each time with the most probable token. Returns the logits of each position.
     */
    private static float[][] decode(Communicator comm, Shape shape, int[] sequence) {
        Model model = new Model(shape, comm);
        float[][] logits = new float[sequence.length - 1][];
        long begin = 0;
        for (int round = 0; round < 2; round++) { // the first round lets the JVM compile the code
            comm.barrier().await();
            begin = System.nanoTime();
            model.communicationNanos = 0;
            for (int t = 0; t < logits.length; t++) {
                logits[t] = model.logits(sequence[t], t);
                if (t + 1 >= PROMPT.length) {
                    sequence[t + 1] = indexOfLargest(logits[t]);
                }
            }
        }
        double nanos = System.nanoTime() - begin;
        double share = 100 * model.communicationNanos / nanos;
        print(
                comm,
                "ranks=%d: %.1f tokens/s, %.1f %% of the time in communication",
                comm.size(),
                logits.length * 1e9 / nanos,
                share);
        return logits;
    }

    private static int indexOfLargest(float[] values) {
        int largest = 0;
        for (int i = 1; i < values.length; i++) {
            if (values[i] > values[largest]) {
                largest = i;
            }
        }
        return largest;
    }

    /** Prints a line on rank 0. */
    private static void print(Communicator comm, String format, Object... values) {
        if (comm.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    /** This rank's part of a model. */
    private static final class Model {

        private final Communicator comm;
        private final float[][] embedding; // by token
        private final float[][] positions;
        private final Layer[] layers;
        private final float[][] output;
        private long communicationNanos;

        Model(Shape shape, Communicator comm) {
            this.comm = comm;
            embedding = matrix(0, 0, shape.vocabulary, 0, shape.width());
            positions = matrix(1, 0, shape.positions, 0, shape.width());
            output = matrix(2, 0, shape.width(), 0, shape.vocabulary);
            layers = new Layer[shape.layers];
            Arrays.setAll(layers, l -> new Layer(shape, 3 + 6 * l, comm.rank(), comm.size()));
        }

        /**
         * Computes the logits of the token that follows {@code token}, with the keys and values of the earlier
         * positions.
         */
        float[] logits(int token, int position) {
            float[] state = embedding[token].clone();
            add(state, positions[position]);
            for (Layer layer : layers) {
                addSum(state, layer.attention(normalized(state), position));
                addSum(state, layer.mlp(normalized(state)));
            }
            return product(normalized(state), output);
        }

        /** Adds the sum of all ranks' parts to the state. */
        private void addSum(float[] state, float[] part) {
            long begin = System.nanoTime();
            comm.allReduce(DataBuffer.of(part), ReduceOp.SUM).await();
            communicationNanos += System.nanoTime() - begin;
            add(state, part);
        }
    }

    /** This rank's part of a layer: some heads, and some units of the hidden layer of the MLP. */
    private static final class Layer {

        private final int headSize;
        private final float[][] query; // the columns of this rank's heads
        private final float[][] key;
        private final float[][] value;
        private final float[][] output; // the rows of this rank's heads
        private final float[][] up; // the columns of this rank's units
        private final float[][] down; // the rows of this rank's units
        private final float[][] keys; // by position: the key-value cache
        private final float[][] values;

        Layer(Shape shape, int tensor, int rank, int size) {
            int width = shape.width();
            int first = shape.heads * rank / size * shape.headSize;
            int end = shape.heads * (rank + 1) / size * shape.headSize;
            int firstUnit = 4 * width * rank / size;
            int endUnit = 4 * width * (rank + 1) / size;
            headSize = shape.headSize;
            query = matrix(tensor, 0, width, first, end);
            key = matrix(tensor + 1, 0, width, first, end);
            value = matrix(tensor + 2, 0, width, first, end);
            output = matrix(tensor + 3, first, end, 0, width);
            up = matrix(tensor + 4, 0, width, firstUnit, endUnit);
            down = matrix(tensor + 5, firstUnit, endUnit, 0, width);
            keys = new float[shape.positions][];
            values = new float[shape.positions][];
        }

        /** Returns the change of the state by the heads of this rank. */
        float[] attention(float[] state, int position) {
            float[] queries = product(state, query);
            keys[position] = product(state, key);
            values[position] = product(state, value);
            float[] attended = new float[queries.length];
            for (int head = 0; head < attended.length; head += headSize) {
                float[] weights = new float[position + 1];
                for (int p = 0; p <= position; p++) {
                    for (int i = head; i < head + headSize; i++) {
                        weights[p] += queries[i] * keys[p][i] / (float) Math.sqrt(headSize);
                    }
                }
                softmax(weights);
                for (int p = 0; p <= position; p++) {
                    for (int i = head; i < head + headSize; i++) {
                        attended[i] += weights[p] * values[p][i];
                    }
                }
            }
            return product(attended, output);
        }

        /** Returns the change of the state by the hidden units of this rank. */
        float[] mlp(float[] state) {
            float[] units = product(state, up);
            for (int i = 0; i < units.length; i++) {
                units[i] = Math.max(0, units[i]);
            }
            return product(units, down);
        }
    }

    /**
     * Makes a part of a random matrix. Its elements do not depend on how the matrix is divided among ranks. Replace
     * this with code that reads weights.
     */
    private static float[][] matrix(int tensor, int firstRow, int endRow, int firstColumn, int endColumn) {
        float[][] matrix = new float[endRow - firstRow][endColumn - firstColumn];
        for (int r = 0; r < matrix.length; r++) {
            SplittableRandom random = new SplittableRandom((long) tensor << 32 | firstRow + r);
            for (int c = 0; c < endColumn; c++) {
                float weight = (float) random.nextGaussian(0, DEVIATION);
                if (c >= firstColumn) {
                    matrix[r][c - firstColumn] = weight;
                }
            }
        }
        return matrix;
    }

    /** Returns a row vector times a matrix, of which this rank may have only some columns or some rows. */
    private static float[] product(float[] vector, float[][] matrix) {
        float[] product = new float[matrix[0].length];
        for (int r = 0; r < matrix.length; r++) {
            for (int c = 0; c < product.length; c++) {
                product[c] += vector[r] * matrix[r][c];
            }
        }
        return product;
    }

    private static void add(float[] to, float[] values) {
        for (int i = 0; i < to.length; i++) {
            to[i] += values[i];
        }
    }

    /** Returns the vector, scaled to a mean square of 1. */
    private static float[] normalized(float[] vector) {
        float squares = 1e-6f;
        for (float x : vector) {
            squares += x * x;
        }
        float scale = (float) Math.sqrt(vector.length / squares);
        float[] normalized = new float[vector.length];
        for (int i = 0; i < vector.length; i++) {
            normalized[i] = scale * vector[i];
        }
        return normalized;
    }

    private static void softmax(float[] values) {
        float largest = values[indexOfLargest(values)];
        float sum = 0;
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.exp(values[i] - largest);
            sum += values[i];
        }
        for (int i = 0; i < values.length; i++) {
            values[i] /= sum;
        }
    }
}
