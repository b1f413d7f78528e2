package io.jccl.djl.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
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
import io.jccl.djl.Compression;
import io.jccl.djl.DataParallel;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Times steps of a perceptron with two hidden layers, by several ways to average its gradients: {@code jccl run -n 2 -- java
 * -cp CLASSPATH io.jccl.djl.examples.TrainingBenchmark HIDDEN BATCH STEPS}.
 *
 * <p>The ways alternate within a run, in blocks of steps, so that all meet the same load of the host. Rank 0 prints medians in
 * milliseconds: a step without communication, and for each way the step and the averaging in it.
 */
public final class TrainingBenchmark {

    private static final int INPUTS = 784;
    private static final int CLASSES = 10;
    private static final int BLOCK = 5;

    /** A way to average gradients. */
    private interface Averaging {
        void average(Trainer trainer);
    }

    /** Times of a way, in nanoseconds. */
    private record Times(List<Long> step, List<Long> averaging) {
        Times() {
            this(new ArrayList<>(), new ArrayList<>());
        }
    }

    private TrainingBenchmark() {}

    /**
     * Runs as one rank of a launcher's job.
     *
     * @param args the units of each hidden layer, the samples of a rank in a batch, and how many steps to time in each way
     */
    public static void main(String[] args) {
        if (args.length != 3) {
            throw new IllegalArgumentException("args=" + Arrays.toString(args) + ": expected HIDDEN BATCH STEPS");
        }
        int hidden = Integer.parseInt(args[0]);
        int batch = Integer.parseInt(args[1]);
        int steps = Integer.parseInt(args[2]);
        try (Communicator comm = Communicator.fromEnvironment();
                Model model = Model.newInstance("perceptron")) {
            Engine.getInstance().setRandomSeed(1);
            model.setBlock(block(hidden));
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(0.01f))
                            .build())
                    .optDevices(new Device[] {Device.cpu()}))) {
                trainer.initialize(new Shape(batch, INPUTS));
                Map<String, Times> times = time(comm, trainer, batch, steps);
                if (comm.rank() == 0) {
                    print(comm, model.getBlock(), times);
                }
            }
        }
    }

    private static Block block(int hidden) {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(hidden).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(hidden).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    private static Map<String, Times> time(Communicator comm, Trainer trainer, int batch, int steps) {
        Map<String, Averaging> ways = ways(comm, trainer);
        Map<String, Times> times = new LinkedHashMap<>();
        ways.keySet().forEach(way -> times.put(way, new Times()));
        Random random = new Random(comm.rank());
        for (int done = -BLOCK; done < steps; done += BLOCK) { // the first block of each way warms up
            boolean isTimed = done >= 0;
            ways.forEach((way, averaging) -> {
                for (int i = 0; i < BLOCK; i++) {
                    step(comm, trainer, batch, random, averaging, isTimed ? times.get(way) : new Times());
                }
            });
        }
        return times;
    }

    private static Map<String, Averaging> ways(Communicator comm, Trainer trainer) {
        DataParallel plain = DataParallel.over(comm);
        DataParallel compressed =
                DataParallel.builder(comm).compression(Compression.FLOAT16).build();
        plain.broadcast(trainer);
        compressed.broadcast(trainer);
        Map<String, Averaging> ways = new LinkedHashMap<>();
        ways.put("no communication", each -> {});
        ways.put("one all-reduce per tensor", each -> {
            try (NDScope scope = new NDScope()) {
                scope.suppressNotUsedWarning();
                gradients(each)
                        .forEach(buffer -> comm.allReduce(buffer, ReduceOp.AVG).await());
            }
        });
        ways.put("all-reduce of a list", each -> {
            try (NDScope scope = new NDScope()) {
                scope.suppressNotUsedWarning();
                comm.allReduce(gradients(each), ReduceOp.AVG).await();
            }
        });
        ways.put("DataParallel, buckets", plain::averageGradients);
        ways.put("DataParallel, float16", compressed::averageGradients);
        return ways;
    }

    private static List<DataBuffer> gradients(Trainer trainer) {
        return trainer.getModel().getBlock().getParameters().values().stream()
                .map(parameter -> parameter.getArray().getGradient())
                .map(gradient ->
                        DataBuffer.of(gradient.toByteBuffer(true).order(ByteOrder.nativeOrder()), DataType.FLOAT32))
                .toList();
    }

    private static void step(
            Communicator comm, Trainer trainer, int batch, Random random, Averaging averaging, Times times) {
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
            comm.barrier().await();
            long begin = System.nanoTime();
            try (GradientCollector collector = trainer.newGradientCollector()) {
                NDArray loss = trainer.getLoss().evaluate(expected, trainer.forward(data));
                collector.backward(loss);
            }
            long computed = System.nanoTime();
            averaging.average(trainer);
            long averaged = System.nanoTime();
            trainer.step();
            times.step().add(System.nanoTime() - begin);
            times.averaging().add(averaged - computed);
        }
    }

    private static void print(Communicator comm, Block block, Map<String, Times> times) {
        long bytes = block.getParameters().values().stream()
                .mapToLong(parameter -> parameter.getArray().size() * Float.BYTES)
                .sum();
        double alone = median(times.get("no communication").step());
        System.out.printf("%d ranks, %.1f MB of gradients%n", comm.size(), bytes / 1e6);
        System.out.printf("%-28s %10s %10s %10s%n", "", "step ms", "of it avg", "ratio");
        times.forEach((way, each) -> System.out.printf(
                "%-28s %10.2f %10.2f %10.2f%n",
                way, median(each.step()), median(each.averaging()), median(each.step()) / alone));
    }

    private static double median(List<Long> nanos) {
        long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
        return sorted[sorted.length / 2] / 1e6;
    }
}
