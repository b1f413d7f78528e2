package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import java.nio.DoubleBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Data-parallel training of a small neural network. Every rank has all parameters and computes the gradients of its
 * part of each batch. One all-reduce averages the gradients of all tensors, in memory that the ranks of a host share,
 * and every rank takes the same step.
 */
public final class DataParallelTraining {

    private static final long SEED = 42;
    private static final int INPUTS = 32;
    private static final int LOSS = 4; // index of the loss, after the gradients of the four tensors
    private static final double RATE = 0.05;
    private static final double TOLERANCE = 1e-6;

    private DataParallelTraining() {}

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(DataParallelTraining.class, arguments);
        int hidden = options.number("hidden", 256, 1, 1_000_000, "units of the hidden layer");
        int batch = options.number("batch", 240, 1, 1_000_000, "samples of a step, of all ranks together");
        int steps = options.number("steps", 200, 1, 1_000_000, "steps of training");
        boolean check = options.flag("check", "compare the result with that of one rank with the whole batch");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment()) {
            if (batch % comm.size() != 0) {
                options.fail(comm, "batch=" + batch + ": expected a multiple of the " + comm.size() + " ranks");
            }
            double[][] parameters = train(comm, hidden, batch, steps, true);
            long hash = Arrays.deepHashCode(parameters);
            if (comm.allReduce(hash, ReduceOp.MIN) != comm.allReduce(hash, ReduceOp.MAX)) {
                throw new IllegalStateException("hash=" + hash + ": expected the same parameters on all ranks");
            }
            print(comm, "ranks=%d: the same parameters, hash %08x", comm.size(), hash & 0xffff_ffffL);
            if (check) {
                check(comm, parameters, hidden, batch, steps);
            }
        }
    }

    /** Trains a network and returns its parameters. */
    private static double[][] train(Communicator comm, int hidden, int batch, int steps, boolean report) {
        Network network = new Network(hidden);
        if (comm.rank() == 0) {
            network.initialize();
        }
        for (double[] tensor : network.parameters) {
            comm.broadcast(DataBuffer.of(tensor), 0).await();
        }
        int part = batch / comm.size();
        long begin = System.nanoTime();
        long communication = 0;
        try (HostBuffer memory = HostBuffer.allocate((network.size() + 1) * Double.BYTES)) {
            DoubleBuffer[] gradients = network.gradients(memory);
            List<DataBuffer> buffers =
                    Arrays.stream(gradients).map(DataBuffer::of).toList();
            for (int step = 0; step < steps; step++) {
                network.computeGradients((long) step * batch + (long) comm.rank() * part, part, gradients);
                long issued = System.nanoTime();
                comm.allReduce(buffers, ReduceOp.AVG).await();
                communication += System.nanoTime() - issued;
                network.update(gradients);
                if (report && (step % Math.max(1, steps / 10) == 0 || step == steps - 1)) {
                    print(comm, "step %d: loss %.6f", step, gradients[LOSS].get(0));
                }
            }
        }
        if (report) {
            double millis = (System.nanoTime() - begin) / 1e6;
            double share = communication / 1e4 / millis;
            print(comm, "%d parameters in %d tensors", network.size(), network.parameters.length);
            print(comm, "%.2f ms a step, %.1f %% of it in communication", millis / steps, share);
        }
        return network.parameters;
    }

    /** Trains on rank 0 alone, over a communicator of one rank, and compares its result with {@code parameters}. */
    private static void check(Communicator comm, double[][] parameters, int hidden, int batch, int steps) {
        boolean isFirst = comm.rank() == 0;
        comm.split(isFirst ? 0 : -1, 0).ifPresent(alone -> {
            try (alone) {
                double[][] expected = train(alone, hidden, batch, steps, false);
                double largest = 0;
                for (int t = 0; t < expected.length; t++) {
                    for (int i = 0; i < expected[t].length; i++) {
                        largest = Math.max(largest, Math.abs(expected[t][i] - parameters[t][i]));
                    }
                }
                print(alone, "largest difference from one rank with the whole batch: %.1e", largest);
                if (!(largest <= TOLERANCE)) {
                    throw new IllegalStateException("difference=" + largest + ": expected at most " + TOLERANCE);
                }
            }
        });
    }

    /** Prints a line on rank 0. */
    private static void print(Communicator comm, String format, Object... values) {
        if (comm.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    /** A network with one hidden layer, whose loss is half the squared error. */
    private static final class Network {

        private final int hidden;
        private final double[][] parameters; // weights and biases of the hidden layer, then of the output
        private final double[] activations;

        Network(int hidden) {
            this.hidden = hidden;
            this.parameters =
                    new double[][] {new double[hidden * INPUTS], new double[hidden], new double[hidden], new double[1]};
            this.activations = new double[hidden];
        }

        void initialize() {
            SplittableRandom random = new SplittableRandom(SEED);
            for (int i = 0; i < parameters[0].length; i++) {
                parameters[0][i] = random.nextGaussian() * Math.sqrt(2.0 / INPUTS);
            }
            for (int i = 0; i < hidden; i++) {
                parameters[2][i] = random.nextGaussian() * Math.sqrt(1.0 / hidden);
            }
        }

        /** Returns the number of parameters. */
        long size() {
            return Arrays.stream(parameters).mapToLong(tensor -> tensor.length).sum();
        }

        /** Returns views of the gradients of each tensor and of the loss, one after the other. */
        DoubleBuffer[] gradients(HostBuffer memory) {
            DoubleBuffer[] views = new DoubleBuffer[LOSS + 1];
            long offset = 0;
            for (int t = 0; t <= LOSS; t++) {
                views[t] = memory.asDoubleBuffer(offset, t == LOSS ? 1 : parameters[t].length);
                offset += (long) views[t].capacity() * Double.BYTES;
            }
            return views;
        }

        /** Computes the mean gradients and the mean loss of the samples from {@code first} on. */
        void computeGradients(long first, int count, DoubleBuffer[] gradients) {
            for (DoubleBuffer tensor : gradients) {
                for (int i = 0; i < tensor.capacity(); i++) {
                    tensor.put(i, 0);
                }
            }
            double[] inputs = new double[INPUTS];
            for (int i = 0; i < count; i++) {
                double target = readSample(first + i, inputs);
                double error = forward(inputs) - target;
                backward(inputs, error / count, gradients);
                add(gradients[LOSS], 0, error * error / 2 / count);
            }
        }

        /** Makes a sample of a function that the network can learn. Replace this with code that reads your data. */
        private static double readSample(long number, double[] inputs) {
            SplittableRandom random = new SplittableRandom(SEED + number);
            for (int i = 0; i < INPUTS; i++) {
                inputs[i] = random.nextDouble(-1, 1);
            }
            return inputs[0] * inputs[1] + Math.abs(inputs[2]) - inputs[3];
        }

        private double forward(double[] inputs) {
            double output = parameters[3][0];
            for (int h = 0; h < hidden; h++) {
                double sum = parameters[1][h];
                for (int i = 0; i < INPUTS; i++) {
                    sum += parameters[0][h * INPUTS + i] * inputs[i];
                }
                activations[h] = Math.max(0, sum);
                output += parameters[2][h] * activations[h];
            }
            return output;
        }

        private void backward(double[] inputs, double error, DoubleBuffer[] gradients) {
            add(gradients[3], 0, error);
            for (int h = 0; h < hidden; h++) {
                if (activations[h] > 0) {
                    add(gradients[2], h, error * activations[h]);
                    double hiddenError = error * parameters[2][h];
                    add(gradients[1], h, hiddenError);
                    for (int i = 0; i < INPUTS; i++) {
                        add(gradients[0], h * INPUTS + i, hiddenError * inputs[i]);
                    }
                }
            }
        }

        private static void add(DoubleBuffer tensor, int index, double value) {
            tensor.put(index, tensor.get(index) + value);
        }

        void update(DoubleBuffer[] gradients) {
            for (int t = 0; t < parameters.length; t++) {
                for (int i = 0; i < parameters[t].length; i++) {
                    parameters[t][i] -= RATE * gradients[t].get(i);
                }
            }
        }
    }
}
