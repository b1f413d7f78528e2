package io.jccl.djl;

import ai.djl.training.Trainer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Trains one model on several ranks, each with its part of the data. After every backward pass the ranks average their
 * gradients, so that {@code trainer.step()} changes all models alike.
 *
 * <pre>{@code
 * DataParallel parallel = DataParallel.over(comm);
 * config.addTrainingListeners(parallel.listeners(TrainingListener.Defaults.logging()));
 * dataset.setSampling(parallel.shuffledSampler(32, seed));
 * trainer.initialize(shape);
 * parallel.broadcast(trainer);
 * EasyTrain.fit(trainer, epochs, dataset, null);
 * }</pre>
 *
 * <p>Every rank creates a DataParallel for its trainer. All trainers have the same block, loss and optimizer, and take
 * the same number of steps. A trainer uses one device. A step ends with a small all-reduce, after which each rank knows
 * that the gradients are averaged on all ranks. So ranks that remain after a failure can all
 * {@linkplain #recover continue} from the same step, whatever state the optimizer has.
 *
 * <p>The average of the ranks' gradients is the gradient of the loss over the global batch if the loss is a mean over
 * samples and all ranks have the same number of samples.
 *
 * <p>All methods must be called by the thread that trains. Exceptions of the communicator come out of
 * {@code EasyTrain.fit}, in particular {@link io.jccl.PeerFailedException}, which names ranks that died.
 */
public final class DataParallel {

    private final boolean averageStatistics;
    private final TensorExchange exchange;
    private final TrainingListener listener = new Listener();
    private Communicator comm;
    private @Nullable DistributedEvaluatorListener evaluators; // of the last call of listeners
    private @Nullable Trainer trainer; // of the last broadcast
    private @Nullable ParameterTable parameters; // of the trainer's block
    private Position.Phase phase = Position.Phase.IDLE;
    private long steps;
    private int epoch;

    private DataParallel(Builder builder) {
        this.comm = builder.comm;
        this.averageStatistics = builder.averageStatistics;
        this.exchange = new TensorExchange(builder.compression, builder.bucketBytes);
    }

    /**
     * Returns a DataParallel that trains on the ranks of a communicator.
     *
     * @param comm remains the caller's, who closes it after training
     */
    public static DataParallel over(Communicator comm) {
        return builder(comm).build();
    }

    /**
     * Returns a builder of a DataParallel that trains on the ranks of a communicator, with options. Options must be the
     * same on all ranks.
     *
     * @param comm remains the caller's, who closes it after training
     */
    public static Builder builder(Communicator comm) {
        return new Builder(comm);
    }

    /**
     * Returns a listener that averages gradients after each batch of {@code EasyTrain}, and counts epochs. Evaluators
     * show the values of this rank; use {@link #listeners} for those of all ranks.
     */
    public TrainingListener listener() {
        return listener;
    }

    /**
     * Returns {@link #listener()} and the given listeners, such as {@code TrainingListener.Defaults}. Replaces an
     * {@link EvaluatorTrainingListener} of DJL by a listener that computes the values of an epoch over all ranks.
     * Metrics and {@code trainer.getTrainingResult()} contain these values. Listeners that stop training because of
     * such a value therefore stop it on all ranks. Values of single batches are those of this rank.
     */
    public TrainingListener[] listeners(TrainingListener... others) {
        List<TrainingListener> all = new ArrayList<>(List.of(listener));
        for (TrainingListener other : others) {
            if (required(TrainingListener.class, "others[]", other).getClass() == EvaluatorTrainingListener.class) {
                evaluators = new DistributedEvaluatorListener(this::communicator);
                all.add(evaluators);
            } else {
                all.add(other);
            }
        }
        return all.toArray(TrainingListener[]::new);
    }

    /**
     * Copies the parameters of rank 0 to every rank. All ranks must call this after {@code trainer.initialize} and
     * before the first batch.
     *
     * @throws IllegalArgumentException on all ranks if parameters differ in number, name, shape, type or in whether
     *     they have a gradient, or are not initialised; the message names the first such parameter. On this rank only,
     *     if the trainer does not use exactly one device.
     */
    public void broadcast(Trainer trainer) {
        ParameterTable table = new ParameterTable(required(Trainer.class, "trainer", trainer));
        table.requireSameShapes(comm);
        exchange.broadcast(comm, trainer, table);
        this.trainer = trainer;
        this.parameters = table;
    }

    /**
     * Averages gradients over all ranks, for the application's own training loops. All ranks must call this after the
     * backward passes of a step, and before {@code trainer.step()}. {@link #listener()} does this after every batch of
     * {@code EasyTrain}.
     *
     * @throws IllegalStateException if {@link #broadcast} was not called for this trainer, or, on all ranks, if the
     *     ranks average gradients of different parameters
     */
    public void averageGradients(Trainer trainer) {
        ParameterTable table = parametersOf(trainer);
        List<ParameterTable.Entry> trainable = table.trainable();
        List<ParameterTable.Entry> statistics = averageStatistics ? table.statistics() : List.of();
        phase = Position.Phase.AVERAGING;
        exchange.average(comm, trainer, trainable, statistics);
        phase = Position.Phase.AVERAGED;
        agree(trainable);
        phase = Position.Phase.IDLE;
        steps++;
    }

    /**
     * Returns when all ranks have averaged the gradients. Throws if the ranks averaged gradients of different
     * parameters.
     */
    private void agree(List<ParameterTable.Entry> trainable) {
        long names = trainable.stream().map(ParameterTable.Entry::name).toList().hashCode();
        long[] range = {names, -names};
        comm.allReduce(DataBuffer.of(range), ReduceOp.MAX).await();
        if (range[0] != -range[1]) {
            throw new IllegalStateException("rank=" + comm.rank() + " trainable.size=" + trainable.size()
                    + ": other ranks have other parameters with gradients; freeze the same parameters on all ranks");
        }
    }

    /**
     * Checks that all parameters have the same values on all ranks. All ranks must call this.
     *
     * @throws IllegalArgumentException on all ranks if a parameter differs; the message names the first that does
     * @throws IllegalStateException if {@link #broadcast} was not called for this trainer
     */
    public void requireEqualParameters(Trainer trainer) {
        parametersOf(trainer).requireSameValues(comm);
    }

    /**
     * Continues with the ranks that remain after a failure. All remaining ranks must call this.
     *
     * <pre>{@code
     * try {
     *     EasyTrain.fit(trainer, 1, dataset, null);
     * } catch (PeerFailedException e) {
     *     Communicator rest = comm.shrink(e.failedRanks());
     *     comm.close();
     *     comm = rest;
     *     parallel.recover(rest, trainer);
     * }
     * }</pre>
     *
     * <p>If a rank has taken the step that failed, or if all ranks have the averaged gradients for it, the ranks that
     * have not taken the step take it here. Otherwise no rank takes it, and the batch is lost. So afterwards all ranks
     * have the same parameters and the same state of the optimizer. The epoch that failed begins again. If this method
     * throws because more ranks have died, call it again with a communicator of the remaining ranks.
     *
     * @param rest the ranks that remain
     * @throws IllegalStateException on all ranks if their steps do not belong together; the message names the first
     *     rank whose steps do not
     */
    public void recover(Communicator rest, Trainer trainer) {
        ParameterTable table = parametersOf(trainer);
        List<Position> positions =
                new Position(steps, phase, epoch).allGather(required(Communicator.class, "rest", rest));
        long target = Position.target(positions);
        if (steps < target) {
            trainer.step();
            steps = target;
        } else {
            exchange.discard(table.trainable());
        }
        phase = Position.Phase.IDLE;
        epoch = Position.epoch(positions);
        comm = rest;
        if (evaluators != null) {
            evaluators.reset(trainer);
        }
        if (averageStatistics) {
            exchange.average(comm, trainer, List.of(), table.statistics());
        }
    }

    /**
     * Returns a sampler that gives this rank its part of every global batch, in the order of the dataset.
     *
     * @param batchSize number of samples of this rank in a batch, at least 1
     */
    public DistributedSampler sampler(int batchSize) {
        return new DistributedSampler(batchSize, false, 0, () -> comm.rank(), () -> comm.size(), this::epoch);
    }

    /**
     * Returns a sampler that gives this rank its part of every global batch, in an order that is shuffled again for
     * each epoch.
     *
     * @param batchSize number of samples of this rank in a batch, at least 1
     * @param seed seed of the order, the same on all ranks
     */
    public DistributedSampler shuffledSampler(int batchSize, long seed) {
        return new DistributedSampler(batchSize, true, seed, () -> comm.rank(), () -> comm.size(), this::epoch);
    }

    /** Returns the communicator of the ranks that train: that of {@link #over}, or of the last {@link #recover}. */
    public Communicator communicator() {
        return comm;
    }

    /** Returns the number of ended epochs, as {@link #listener()} counts them; the same on all ranks between epochs. */
    public int epoch() {
        return epoch;
    }

    /**
     * Returns the number of steps for which gradients were averaged; the same on all ranks after a step and after
     * {@link #recover}.
     */
    public long steps() {
        return steps;
    }

    private ParameterTable parametersOf(Trainer trainer) {
        if (parameters == null || trainer != this.trainer) {
            throw new IllegalStateException("trainer=" + trainer + ": expected the one of the last broadcast; call"
                    + " broadcast(trainer) after trainer.initialize, with a DataParallel for each trainer");
        }
        return parameters;
    }

    private static <T> T required(Class<T> type, String name, @Nullable T value) {
        if (value == null) {
            throw new IllegalArgumentException(name + "=null: expected a " + type.getSimpleName());
        }
        return value;
    }

    private final class Listener extends TrainingListenerAdapter {

        @Override
        public void onTrainingBatch(Trainer trainer, BatchData batchData) {
            long begin = System.nanoTime();
            averageGradients(trainer);
            trainer.addMetric("all-reduce", begin);
        }

        @Override
        public void onEpoch(Trainer trainer) {
            epoch++;
        }

        @Override
        public void onTrainingEnd(Trainer trainer) {
            exchange.close();
        }
    }

    /** Options of a {@link DataParallel}, which must be the same on all ranks. */
    public static final class Builder {

        private static final int BUCKET_BYTES = 4 << 20;
        private static final int MAX_BUCKET_BYTES = 1 << 30;

        private final Communicator comm;
        private @Nullable WireFormat compression;
        private boolean averageStatistics = true;
        private int bucketBytes = BUCKET_BYTES;

        private Builder(Communicator comm) {
            this.comm = required(Communicator.class, "comm", comm);
        }

        /**
         * Sets the format in which gradients of float32 and float64 travel between hosts. What a rank loses by rounding
         * a gradient is added to its next gradient of this parameter ({@link io.jccl.ErrorFeedback}), also on one host.
         *
         * @param compression if not set, gradients travel in the communicator's format, and errors are not kept
         */
        public Builder compression(WireFormat compression) {
            this.compression = required(WireFormat.class, "compression", compression);
            return this;
        }

        /**
         * Sets whether running means and variances of batch normalization are averaged with the gradients, so that they
         * are the same on all ranks. If not, each rank has those of its own samples. True unless set.
         */
        public Builder averageStatistics(boolean averageStatistics) {
            this.averageStatistics = averageStatistics;
            return this;
        }

        /**
         * Sets the size from which a bucket of gradients takes no further ones, and the size of the shared memory through
         * which parameters and statistics travel.
         *
         * @param bucketBytes 1 KiB to 1 GiB, a multiple of 8; 4 MiB unless set
         */
        public Builder bucketBytes(int bucketBytes) {
            if (bucketBytes < 1024 || bucketBytes > MAX_BUCKET_BYTES || bucketBytes % 8 != 0) {
                throw new IllegalArgumentException(
                        "bucketBytes=" + bucketBytes + ": expected a multiple of 8 from 1024 to " + MAX_BUCKET_BYTES);
            }
            this.bucketBytes = bucketBytes;
            return this;
        }

        /** Creates the {@link DataParallel}. */
        public DataParallel build() {
            return new DataParallel(this);
        }
    }
}
