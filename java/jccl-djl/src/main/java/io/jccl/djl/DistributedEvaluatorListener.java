package io.jccl.djl;

import ai.djl.metric.Metrics;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.loss.Loss;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.List;
import java.util.function.Supplier;

/**
 * An {@link EvaluatorTrainingListener} of DJL whose values of an epoch are the weighted means of all ranks' values. A
 * loss is weighted by batches, because it is a mean over batches; other evaluators are weighted by samples.
 */
final class DistributedEvaluatorListener extends EvaluatorTrainingListener {

    /** Numbers of batches and samples of a rank in an epoch. */
    private static final class Seen {

        private long batches;
        private long samples;

        void add(BatchData batch) {
            batches++;
            samples += batch.getBatch().getSize();
        }

        long weight(Evaluator evaluator) {
            return evaluator instanceof Loss ? batches : samples;
        }

        void clear() {
            batches = 0;
            samples = 0;
        }
    }

    private static final List<String> STAGES = List.of(TRAIN_EPOCH, VALIDATE_EPOCH);
    private static final List<String> PREFIXES = List.of("train_", "validate_");

    private final Supplier<Communicator> communicator;
    private final List<Seen> seen = List.of(new Seen(), new Seen()); // by stage

    DistributedEvaluatorListener(Supplier<Communicator> communicator) {
        this.communicator = communicator;
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        super.onTrainingBatch(trainer, batchData);
        seen.get(0).add(batchData);
    }

    @Override
    public void onValidationBatch(Trainer trainer, BatchData batchData) {
        super.onValidationBatch(trainer, batchData);
        seen.get(1).add(batchData);
    }

    @Override
    public void onEpoch(Trainer trainer) {
        double[] values = reduce(trainer.getEvaluators());
        Metrics metrics = trainer.getMetrics();
        reset(trainer);
        int at = 0;
        for (Evaluator evaluator : trainer.getEvaluators()) {
            for (int stage = 0; stage < STAGES.size(); stage++) {
                float value = (float) (values[at] / values[at + 1]); // NaN if no rank has had a batch, as in DJL
                at += 2;
                if (metrics != null) {
                    metrics.addMetric(metricName(evaluator, STAGES.get(stage)), value);
                }
                getLatestEvaluations().put(PREFIXES.get(stage) + evaluator.getName(), value);
                if (evaluator == trainer.getLoss()) {
                    getLatestEvaluations().put(PREFIXES.get(stage) + "loss", value);
                }
            }
        }
    }

    /**
     * Returns, for each evaluator and stage, the sum over the ranks of its weighted value, then the sum of the weights.
     */
    private double[] reduce(List<Evaluator> evaluators) {
        double[] values = new double[evaluators.size() * STAGES.size() * 2];
        int at = 0;
        for (Evaluator evaluator : evaluators) {
            for (int stage = 0; stage < STAGES.size(); stage++) {
                long weight = seen.get(stage).weight(evaluator);
                values[at] = weight == 0 ? 0 : weight * (double) evaluator.getAccumulator(STAGES.get(stage));
                values[at + 1] = weight;
                at += 2;
            }
        }
        communicator
                .get()
                .allReduce(DataBuffer.of(values), ReduceOp.SUM, WireFormat.EXACT)
                .await();
        return values;
    }

    /** Begins an epoch. */
    void reset(Trainer trainer) {
        Metrics metrics = trainer.getMetrics();
        trainer.setMetrics(null); // metrics must get only the values over all ranks
        super.onEpoch(trainer);
        trainer.setMetrics(metrics);
        seen.forEach(Seen::clear);
    }
}
