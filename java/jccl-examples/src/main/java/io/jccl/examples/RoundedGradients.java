package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.ErrorFeedback;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Logistic regression whose gradients are rounded between hosts, once for each format, with and without error feedback.
 * Prints the losses beside those of exact gradients. Each rank computes the gradient of its own part of the samples.
 */
public final class RoundedGradients {

    private static final long SEED = 42;
    private static final float RATE = 2;
    private static final int LINES = 10;

    private static final List<WireFormat> FORMATS = List.of(
            WireFormat.EXACT, WireFormat.BFLOAT16, WireFormat.FLOAT16, WireFormat.FLOAT8_BLOCK, WireFormat.INT8_BLOCK);

    private final float[][] samples; // of this rank; the features are followed by 1
    private final boolean[] labels;

    private RoundedGradients(int first, int end, int features) {
        samples = new float[end - first][features + 1];
        labels = new boolean[end - first];
        for (int i = 0; i < samples.length; i++) {
            labels[i] = readSample(first + i, samples[i]);
        }
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(RoundedGradients.class, arguments);
        int samples = options.number("samples", 4000, 1, 10_000_000, "samples of all ranks together");
        int features = options.number("features", 1000, 2, 1_000_000, "features of a sample");
        int steps = options.number("steps", 200, 1, 1_000_000, "steps of gradient descent");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment()) {
            if (samples % comm.size() != 0) {
                options.fail(comm, "samples=" + samples + ": expected a multiple of the " + comm.size() + " ranks");
            }
            int part = samples / comm.size();
            RoundedGradients data = new RoundedGradients(comm.rank() * part, (comm.rank() + 1) * part, features);
            List<String> names = new ArrayList<>();
            List<double[]> curves = new ArrayList<>();
            for (WireFormat format : FORMATS) {
                names.add(format.toString());
                curves.add(data.train(comm, format, null, steps));
                if (!format.equals(WireFormat.EXACT)) {
                    names.add(format + "+feedback");
                    curves.add(data.train(comm, format, new ErrorFeedback(format), steps));
                }
            }
            if (comm.rank() == 0) {
                print(names, curves, steps);
            }
        }
    }

    /** Returns the losses before each step, and after the last one. */
    private double[] train(Communicator comm, WireFormat format, ErrorFeedback feedback, int steps) {
        float[] weights = new float[samples[0].length];
        double[] losses = new double[steps + 1];
        for (int step = 0; step <= steps; step++) {
            float[] gradient = new float[weights.length];
            double loss = computeGradient(weights, gradient);
            losses[step] = comm.allReduce(loss, ReduceOp.AVG); // single numbers are never rounded
            if (feedback != null) {
                feedback.compensate(gradient);
            }
            comm.allReduce(gradient, ReduceOp.AVG, format).await();
            for (int i = 0; i < weights.length; i++) {
                weights[i] -= RATE * gradient[i];
            }
        }
        return losses;
    }

    /** Computes the mean gradient of this rank's samples, and returns their mean loss. */
    private double computeGradient(float[] weights, float[] gradient) {
        double loss = 0;
        for (int s = 0; s < samples.length; s++) {
            double margin = 0;
            for (int i = 0; i < weights.length; i++) {
                margin += weights[i] * samples[s][i];
            }
            double signed = labels[s] ? margin : -margin;
            loss += Math.max(0, -signed) + Math.log1p(Math.exp(-Math.abs(signed)));
            float error = (float) ((1 / (1 + Math.exp(-margin)) - (labels[s] ? 1 : 0)) / samples.length);
            for (int i = 0; i < weights.length; i++) {
                gradient[i] += error * samples[s][i];
            }
        }
        return loss / samples.length;
    }

    /**
     * Makes a sample, whose features have magnitudes from 1 down to 1/1000, as rare words have in a text. Replace this
     * with code that reads your data.
     *
     * @return the label
     */
    private static boolean readSample(int number, float[] features) {
        SplittableRandom random = new SplittableRandom(SEED + number);
        int last = features.length - 1;
        double margin = 0;
        for (int i = 0; i < last; i++) {
            double value = random.nextGaussian();
            features[i] = (float) (value * Math.pow(1000, -(double) i / last));
            margin += i % 2 == 0 ? value : -value;
        }
        features[last] = 1;
        return margin + Math.sqrt(last) * random.nextGaussian() > 0;
    }

    private static void print(List<String> names, List<double[]> curves, int steps) {
        System.out.println("loss after step, " + String.join(", ", names));
        for (int line = 0; line <= LINES; line++) {
            int step = (int) ((long) steps * line / LINES);
            StringBuilder text = new StringBuilder("step " + step + ":");
            for (double[] losses : curves) {
                text.append(String.format(Locale.ROOT, " %.5f", losses[step]));
            }
            System.out.println(text);
        }
    }
}
