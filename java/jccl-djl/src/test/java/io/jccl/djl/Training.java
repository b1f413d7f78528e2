package io.jccl.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.EpochTrainingListener;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import io.jccl.Communicator;
import java.util.Arrays;
import java.util.Random;

/** A classifier, its trainer and its data, for training on all ranks of a communicator or with DJL alone. */
final class Training implements AutoCloseable {

    static final int FEATURES = 20;
    static final int CLASSES = 4;

    private static final int SAMPLES = 64 * 20;
    private static final long SEED = 7;

    private final DataParallel parallel; // null for training without JCCL
    private final EpochTrainingListener epochs = new EpochTrainingListener();
    private final Model model;
    private final Trainer trainer;
    private final float[] points = new float[SAMPLES * FEATURES];
    private final float[] labels = new float[SAMPLES];

    private Training(DataParallel parallel, Block block, Optimizer optimizer) {
        this.parallel = parallel;
        TrainingListener[] listeners = TrainingListener.Defaults.basic();
        listeners[0] = epochs;
        model = Model.newInstance("model");
        model.setBlock(block);
        trainer = model.newTrainer(new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(optimizer)
                .optDevices(new Device[] {Device.cpu()})
                .addEvaluator(new Accuracy())
                .addTrainingListeners(parallel == null ? listeners : parallel.listeners(listeners)));
        trainer.setMetrics(new Metrics());
        makeData();
    }

    /** Returns a training with DJL alone, without JCCL. */
    static Training alone(Block block, Optimizer optimizer) {
        Engine.getInstance().setRandomSeed(1);
        Training training = new Training(null, block, optimizer);
        training.trainer.initialize(new Shape(32, FEATURES));
        return training;
    }

    /**
     * Returns a training on all ranks of {@code comm}. Ranks initialise different parameters and then receive those of
     * rank 0, which equal the ones of {@link #alone}.
     */
    static Training on(Communicator comm, DataParallel parallel, Block block, Optimizer optimizer) {
        Engine.getInstance().setRandomSeed(1 + comm.rank());
        Training training = new Training(parallel, block, optimizer);
        training.trainer.initialize(new Shape(32, FEATURES));
        try {
            parallel.broadcast(training.trainer);
            return training;
        } catch (RuntimeException e) {
            training.close();
            throw e;
        }
    }

    static Training uninitialized(DataParallel parallel, Block block, Optimizer optimizer) {
        return new Training(parallel, block, optimizer);
    }

    private void makeData() {
        Random random = new Random(3);
        for (int i = 0; i < SAMPLES; i++) {
            labels[i] = random.nextInt(CLASSES);
            for (int j = 0; j < FEATURES; j++) {
                points[i * FEATURES + j] = (float) random.nextGaussian() + (j % CLASSES == labels[i] ? 1 : 0);
            }
        }
    }

    DataParallel parallel() {
        return parallel;
    }

    Trainer trainer() {
        return trainer;
    }

    /** Returns the first parameter whose name ends with {@code name}. */
    NDArray parameter(String name) {
        return model.getBlock().getParameters().stream()
                .filter(pair -> pair.getKey().endsWith(name))
                .findFirst()
                .orElseThrow()
                .getValue()
                .getArray();
    }

    RandomAccessDataset dataset(Sampler sampler) {
        return new ArrayDataset.Builder()
                .setData(trainer.getManager().create(points, new Shape(SAMPLES, FEATURES)))
                .optLabels(trainer.getManager().create(labels))
                .setSampling(sampler)
                .build();
    }

    void fit(int batchSize, int epochs) throws Exception {
        EasyTrain.fit(trainer, epochs, dataset(shuffled(batchSize)), null);
    }

    void fitAndValidate(int batchSize, int epochs) throws Exception {
        EasyTrain.fit(trainer, epochs, dataset(shuffled(batchSize)), dataset(inOrder(batchSize)));
    }

    private Sampler shuffled(int batchSize) {
        return parallel == null
                ? new DistributedSampler(batchSize, true, SEED, () -> 0, () -> 1, epochs::getNumEpochs)
                : parallel.shuffledSampler(batchSize, SEED);
    }

    private Sampler inOrder(int batchSize) {
        return parallel == null
                ? new DistributedSampler(batchSize, false, SEED, () -> 0, () -> 1, epochs::getNumEpochs)
                : parallel.sampler(batchSize);
    }

    /** Adds the gradient of the loss of {@code count} samples, multiplied by {@code weight}. */
    void backward(int from, int count, float weight) {
        float[] x = Arrays.copyOfRange(points, from * FEATURES, (from + count) * FEATURES);
        NDList data = new NDList(trainer.getManager().create(x, new Shape(count, FEATURES)));
        NDList expected = new NDList(trainer.getManager().create(Arrays.copyOfRange(labels, from, from + count)));
        try (GradientCollector collector = trainer.newGradientCollector()) {
            NDList predicted = trainer.forward(data);
            // DJL may free the memory of mul(weight) before the backward pass; an array of the manager stays.
            NDArray factor = trainer.getManager().create(weight);
            collector.backward(trainer.getLoss().evaluate(expected, predicted).mul(factor));
        }
    }

    /**
     * Returns the distance of all parameters from those of {@code other}, relative to the norm of those of
     * {@code other}.
     */
    double distance(Training other) {
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < model.getBlock().getParameters().size(); i++) {
            double[] mine = elements(i);
            double[] theirs = other.elements(i);
            for (int j = 0; j < mine.length; j++) {
                difference += (mine[j] - theirs[j]) * (mine[j] - theirs[j]);
                norm += theirs[j] * theirs[j];
            }
        }
        return Math.sqrt(difference / norm);
    }

    private double[] elements(int parameter) {
        NDArray array =
                model.getBlock().getParameters().get(parameter).getValue().getArray();
        return array.toType(DataType.FLOAT64, true).toDoubleArray();
    }

    @Override
    public void close() {
        trainer.close();
        model.close();
    }
}
