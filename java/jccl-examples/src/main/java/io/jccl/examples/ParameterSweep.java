package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * A parameter sweep. The ranks are split into teams. Each team trains a model with one configuration after the other,
 * and its ranks share the work by all-reduce. The results of all teams are collected on every rank.
 *
 * <p>The model is a logistic regression. The sweep finds the learning rate and the penalty with the smallest loss on
 * data that was not used in training.
 */
public final class ParameterSweep {

    private static final long SEED = 42;
    private static final int FEATURES = 20;
    private static final double[] RATES = {0.1, 1, 10};
    private static final double[] PENALTIES = {0.001, 0.01, 0.1};

    private ParameterSweep() {}

    /** The result of one configuration. */
    private record Result(double rate, double penalty, double loss, int team) {

        static final int BYTES = 3 * Double.BYTES + Integer.BYTES;

        static Result read(ByteBuffer from) {
            return new Result(from.getDouble(), from.getDouble(), from.getDouble(), from.getInt());
        }

        void write(ByteBuffer to) {
            to.putDouble(rate).putDouble(penalty).putDouble(loss).putInt(team);
        }
    }

    /** Data points and their classes, 0 or 1. */
    private record Data(double[][] features, int[] classes) {

        /**
         * Makes the points with the numbers from {@code first} to {@code end}, exclusive. Replace this with code that
         * reads a part of your data.
         */
        static Data read(int first, int end) {
            Data data = new Data(new double[end - first][FEATURES], new int[end - first]);
            for (int i = 0; i < end - first; i++) {
                SplittableRandom random = new SplittableRandom(SEED + first + i);
                double sum = 0;
                for (int f = 0; f < FEATURES; f++) {
                    data.features[i][f] = random.nextGaussian();
                    sum += data.features[i][f] / (f + 1);
                }
                data.classes[i] = sum + random.nextGaussian() > 0 ? 1 : 0;
            }
            return data;
        }
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(ParameterSweep.class, arguments);
        int teams = options.number("teams", 2, 1, 1000, "teams that the ranks are split into");
        int points = options.number("points", 600, 2, 10_000_000, "points to train with, and as many to compare");
        int steps = options.number("steps", 300, 1, 1_000_000, "steps of training with each configuration");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment()) {
            if (teams > comm.size()) {
                options.fail(comm, "teams=" + teams + ": expected at most the number of ranks, " + comm.size());
            }
            // A team consists of consecutive ranks. If the number of ranks is not a multiple of the number of teams,
            // the sizes of teams differ by one.
            int color = (int) ((long) comm.rank() * teams / comm.size());
            byte[] results;
            try (Communicator team = comm.split(color, comm.rank()).orElseThrow()) {
                results = trainAll(team, color, teams, points, steps);
            }
            List<byte[]> all = comm.allGatherBytes(results);
            if (comm.rank() == 0) {
                report(all);
            }
        }
    }

    /**
     * Trains with every configuration of this team. Returns the results on the first rank, and nothing on the others.
     */
    private static byte[] trainAll(Communicator team, int color, int teams, int points, int steps) {
        Data training = Data.read(firstOf(team.rank(), team, points), firstOf(team.rank() + 1, team, points));
        Data heldOut =
                Data.read(points + firstOf(team.rank(), team, points), points + firstOf(team.rank() + 1, team, points));
        int configurations = RATES.length * PENALTIES.length;
        ByteBuffer results = ByteBuffer.allocate(configurations * Result.BYTES);
        for (int c = color; c < configurations; c += teams) {
            double rate = RATES[c / PENALTIES.length];
            double penalty = PENALTIES[c % PENALTIES.length];
            double[] weights = train(team, training, points, rate, penalty, steps);
            double loss = team.allReduce(loss(heldOut, weights), ReduceOp.SUM) / points;
            if (team.rank() == 0) {
                new Result(rate, penalty, loss, color).write(results);
            }
        }
        byte[] written = new byte[results.position()];
        results.flip().get(written);
        return written;
    }

    /** Returns the number of the first point in a rank's part. */
    private static int firstOf(int rank, Communicator team, int points) {
        return (int) ((long) points * rank / team.size());
    }

    /** Trains by gradient descent, with the points divided among the ranks of the team. */
    private static double[] train(Communicator team, Data data, int points, double rate, double penalty, int steps) {
        double[] weights = new double[FEATURES];
        double[] gradient = new double[FEATURES];
        DataBuffer buffer = DataBuffer.of(gradient);
        for (int step = 0; step < steps; step++) {
            Arrays.fill(gradient, 0);
            for (int i = 0; i < data.classes.length; i++) {
                double error = 1 / (1 + Math.exp(-dot(weights, data.features[i]))) - data.classes[i];
                for (int f = 0; f < FEATURES; f++) {
                    gradient[f] += error * data.features[i][f];
                }
            }
            team.allReduce(buffer, ReduceOp.SUM).await();
            for (int f = 0; f < FEATURES; f++) {
                weights[f] -= rate * (gradient[f] / points + penalty * weights[f]);
            }
        }
        return weights;
    }

    /** Returns the sum of the losses of some points. */
    private static double loss(Data data, double[] weights) {
        double loss = 0;
        for (int i = 0; i < data.classes.length; i++) {
            double margin = (2 * data.classes[i] - 1) * dot(weights, data.features[i]);
            loss += Math.max(0, -margin) + Math.log1p(Math.exp(-Math.abs(margin)));
        }
        return loss;
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int f = 0; f < FEATURES; f++) {
            sum += a[f] * b[f];
        }
        return sum;
    }

    private static void report(List<byte[]> all) {
        List<Result> results = new ArrayList<>();
        for (byte[] bytes : all) {
            ByteBuffer from = ByteBuffer.wrap(bytes);
            while (from.hasRemaining()) {
                results.add(Result.read(from));
            }
        }
        results.sort(Comparator.comparingDouble(Result::rate).thenComparingDouble(Result::penalty));
        results.forEach(result -> print("", result));
        print(
                "best: ",
                results.stream().min(Comparator.comparingDouble(Result::loss)).orElseThrow());
    }

    private static void print(String before, Result result) {
        System.out.printf(
                Locale.ROOT,
                "%srate %-4s penalty %-5s loss %.9f (team %d)%n",
                before,
                result.rate,
                result.penalty,
                result.loss,
                result.team);
    }
}
