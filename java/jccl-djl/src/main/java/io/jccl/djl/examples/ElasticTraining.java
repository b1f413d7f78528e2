package io.jccl.djl.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.translate.TranslateException;
import io.jccl.Communicator;
import io.jccl.PeerFailedException;
import io.jccl.WireFormat;
import io.jccl.djl.DataParallel;
import java.io.IOException;
import java.util.Random;

/**
 * Trains a classifier on all ranks, and continues when ranks die. Start it with
 * {@code jccl run -n 3 -- java -cp CLASSPATH io.jccl.djl.examples.ElasticTraining EPOCHS [FORMAT]}, then kill one of the
 * processes.
 */
public final class ElasticTraining {

    private static final int SAMPLES = 3 * 32 * 20;
    private static final int FEATURES = 20;
    private static final int CLASSES = 4;

    private ElasticTraining() {}

    /**
     * Trains as one rank of a launcher's job.
     *
     * @param args the number of epochs; then the format in which gradients travel between hosts, if not that of the
     *     communicator
     */
    public static void main(String[] args) throws IOException, TranslateException {
        int epochs = args.length == 0 ? 20 : Integer.parseInt(args[0]);
        Communicator comm = Communicator.fromEnvironment();
        DataParallel.Builder builder = DataParallel.builder(comm);
        if (args.length > 1) {
            builder.compression(WireFormat.parse(args[1]));
        }
        DataParallel parallel = builder.build();
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.adam().build())
                .optDevices(new Device[] {Device.cpu()})
                .addEvaluator(new Accuracy())
                .addTrainingListeners(parallel.listeners(TrainingListener.Defaults.basic()));
        try (Model model = Model.newInstance("classifier")) {
            Engine.getInstance().setRandomSeed(1); // so that runs begin with the same parameters
            model.setBlock(block());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(32, FEATURES));
                parallel.broadcast(trainer);
                ArrayDataset dataset = dataset(trainer.getManager(), parallel.shuffledSampler(32, 7));
                while (parallel.epoch() < epochs) {
                    try {
                        EasyTrain.fit(trainer, 1, dataset, null);
                        report(comm, parallel, trainer);
                    } catch (PeerFailedException e) {
                        System.out.println("rank " + comm.rank() + " of " + comm.size() + ": " + e.getMessage());
                        Communicator rest = comm.shrink(e.failedRanks());
                        comm.close();
                        comm = rest;
                        parallel.recover(comm, trainer);
                        System.out.println("rank " + comm.rank() + " of " + comm.size() + " goes on from step "
                                + parallel.steps());
                    }
                }
                parallel.requireEqualParameters(trainer);
                System.out.println("rank " + comm.rank() + " of " + comm.size() + " has trained " + parallel.epoch()
                        + " epochs in " + parallel.steps() + " steps");
            }
        } finally {
            comm.close();
        }
    }

    private static void report(Communicator comm, DataParallel parallel, Trainer trainer) {
        if (comm.rank() == 0) {
            System.out.printf(
                    "epoch %d, %d ranks: loss %.4f, accuracy %.3f%n",
                    parallel.epoch(),
                    comm.size(),
                    trainer.getTrainingResult().getTrainLoss(),
                    trainer.getTrainingResult().getTrainEvaluation("Accuracy"));
        }
    }

    private static Block block() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(64).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    /** Returns points around a centre for each class, the same on all ranks. */
    private static ArrayDataset dataset(NDManager manager, Sampler sampler) {
        Random random = new Random(1);
        float[] points = new float[SAMPLES * FEATURES];
        float[] labels = new float[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) {
            labels[i] = random.nextInt(CLASSES);
            for (int j = 0; j < FEATURES; j++) {
                points[i * FEATURES + j] = (float) random.nextGaussian() + (j % CLASSES == labels[i] ? 1 : 0);
            }
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(points, new Shape(SAMPLES, FEATURES)))
                .optLabels(manager.create(labels))
                .setSampling(sampler)
                .build();
    }
}
