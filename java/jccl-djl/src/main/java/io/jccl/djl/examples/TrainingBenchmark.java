package io.jccl.djl.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.djl.DataParallel;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * Measures the time of training steps of a perceptron with two hidden layers, for several methods of averaging its
 * gradients: {@code jccl run -n 2 -- java -cp CLASSPATH io.jccl.djl.examples.TrainingBenchmark HIDDEN BATCH STEPS}.
 *
 * <p>The methods alternate within a run, in blocks of steps, so that the load of the host affects all methods alike.
 * Rank 0 prints the median times of a step, and of averaging in a step, in milliseconds. It prints them for one process
 * that trains on the samples of all ranks while the others wait, for all ranks without communication, and for each
 * method of averaging.
 */
public final class TrainingBenchmark {

    private static final int INPUTS = 784;
    private static final int CLASSES = 10;
    private static final int BLOCK = 5;

    /**
     * A method to average gradients, and its times in nanoseconds.
     *
     * @param isAlone true if rank 0 alone trains, on the samples of all ranks
     * @param trainer trains a model that methods share only if they leave the memory of its gradients as it is
     */
    private record Way(
            String name,
            boolean isAlone,
            Trainer trainer,
            Consumer<Trainer> average,
            List<Long> stepTimes,
            List<Long> averagingTimes) {

        Way(String name, boolean isAlone, Trainer trainer, Consumer<Trainer> average) {
            this(name, isAlone, trainer, average, new ArrayList<>(), new ArrayList<>());
        }

        void forget() {
            stepTimes.clear();
            averagingTimes.clear();
        }
    }

    private TrainingBenchmark() {}

    /**
     * Runs as one rank of a launcher's job.
     *
     * @param args number of units of each hidden layer, number of samples of a rank in a batch, and number of steps to
     *     time with each method
     */
    public static void main(String[] args) {
        if (args.length != 3) {
            throw new IllegalArgumentException("args=" + Arrays.toString(args) + ": expected HIDDEN BATCH STEPS");
        }
        int hidden = Integer.parseInt(args[0]);
        int batch = Integer.parseInt(args[1]);
        int steps = Integer.parseInt(args[2]);
        try (Communicator comm = Communicator.fromEnvironment();
                Model model = model(hidden);
                Model averaged = model(hidden);
                Model compressed = model(hidden);
                Trainer plain = trainer(model, batch);
                Trainer parallel = trainer(averaged, batch);
                Trainer narrow = trainer(compressed, batch)) {
            List<Way> ways = ways(comm, plain, parallel, narrow);
            time(comm, ways, batch, steps);
            if (comm.rank() == 0) {
                print(comm, model.getBlock(), ways);
            }
        }
    }

    private static Model model(int hidden) {
        Engine.getInstance().setRandomSeed(1);
        Model model = Model.newInstance("perceptron");
        model.setBlock(block(hidden));
        return model;
    }

    private static Trainer trainer(Model model, int batch) {
        Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.01f))
                        .build())
                .optDevices(new Device[] {Device.cpu()}));
        trainer.initialize(new Shape(batch, INPUTS));
        return trainer;
    }

    private static Block block(int hidden) {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(hidden).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(hidden).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    private static void time(Communicator comm, List<Way> ways, int batch, int steps) {
        Random random = new Random(comm.rank());
        for (int done = 0; done < BLOCK + steps; done += BLOCK) {
            for (Way way : ways) {
                for (int i = 0; i < BLOCK; i++) {
                    comm.barrier().await();
                    if (!way.isAlone()) {
                        step(way, batch, random);
                    } else if (comm.rank() == 0) {
                        step(way, batch * comm.size(), random);
                    }
                }
            }
            if (done == 0) {
                ways.forEach(Way::forget); // the first block warms up
            }
        }
    }

    private static List<Way> ways(Communicator comm, Trainer trainer, Trainer averaged, Trainer narrow) {
        DataParallel plain = DataParallel.over(comm);
        DataParallel compressed =
                DataParallel.builder(comm).compression(WireFormat.FLOAT16).build();
        plain.broadcast(averaged);
        compressed.broadcast(narrow);
        return List.of(
                new Way("one process, all samples", true, trainer, each -> {}),
                new Way("no communication", false, trainer, each -> {}),
                new Way("all-reduce of each tensor", false, trainer, each -> averageEach(comm, each)),
                new Way("all-reduce of a list", false, trainer, each -> averageList(comm, each)),
                new Way("DataParallel", false, averaged, plain::averageGradients),
                new Way("DataParallel, float16", false, narrow, compressed::averageGradients));
    }

    private static void averageEach(Communicator comm, Trainer trainer) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            for (DataBuffer gradient : gradients(trainer)) {
                comm.allReduce(gradient, ReduceOp.AVG).await();
            }
        }
    }

    private static void averageList(Communicator comm, Trainer trainer) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            comm.allReduce(gradients(trainer), ReduceOp.AVG).await();
        }
    }

    /** Returns the gradients' own memory, whose elements are one after the other for a perceptron on a CPU. */
    private static List<DataBuffer> gradients(Trainer trainer) {
        return trainer.getModel().getBlock().getParameters().values().stream()
                .map(parameter -> parameter.getArray().getGradient())
                .map(gradient ->
                        DataBuffer.of(gradient.toByteBuffer(true).order(ByteOrder.nativeOrder()), DataType.FLOAT32))
                .toList();
    }

    private static void step(Way way, int batch, Random random) {
        Trainer trainer = way.trainer();
        try (NDManager manager = trainer.getManager().newSubManager()) {
            float[] x = new float[batch * INPUTS];
            float[] labels = new float[batch];
            for (int i = 0; i < x.length; i++) {
                x[i] = random.nextFloat();
            }
            for (int i = 0; i < batch; i++) {
                labels[i] = random.nextInt(CLASSES);
            }
            NDList data = new NDList(manager.create(x, new Shape(batch, INPUTS)));
            NDList expected = new NDList(manager.create(labels));
            long begin = System.nanoTime();
            try (GradientCollector collector = trainer.newGradientCollector()) {
                collector.backward(trainer.getLoss().evaluate(expected, trainer.forward(data)));
            }
            long computed = System.nanoTime();
            way.average().accept(trainer);
            way.averagingTimes().add(System.nanoTime() - computed);
            trainer.step();
            way.stepTimes().add(System.nanoTime() - begin);
        }
    }

    private static void print(Communicator comm, Block block, List<Way> ways) {
        long bytes = block.getParameters().values().stream()
                .mapToLong(parameter -> parameter.getArray().size() * Float.BYTES)
                .sum();
        double alone = median(ways.get(0).stepTimes());
        System.out.printf("%d ranks, %.1f MB of gradients%n", comm.size(), bytes / 1e6);
        System.out.printf("%-28s %10s %15s %10s%n", "", "step, ms", "averaging, ms", "speed-up");
        for (Way way : ways) {
            double step = median(way.stepTimes());
            System.out.printf(
                    "%-28s %10.2f %15.2f %10.2f%n", way.name(), step, median(way.averagingTimes()), alone / step);
        }
    }

    private static double median(List<Long> nanos) {
        long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
        return sorted[sorted.length / 2] / 1e6;
    }
}
