package io.jccl.pytorch;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Measures a step of training with JCCL and with the preset's own means: prints the medians of the whole step and of the wait
 * after the backward pass, in ms.
 *
 * <p>Arguments: the width of three linear layers (245, 1765 and 3530 have gradients of 0.5, 25 and 100 MB), and the number of
 * rounds. In a round each mode takes a few steps, so that all modes meet the same load of the host.
 */
final class StepBenchmark {

    private static final int SAMPLES = 32;
    private static final int WARM_UP = 2;
    private static final int STEPS = 4;
    private static final long BUCKET_BYTES = 4 << 20;

    private StepBenchmark() {}

    /** Averages the gradients of a step. */
    interface GradientSync extends AutoCloseable {

        /** Called before the forward pass. */
        default void begin() {}

        /** Called after the backward pass; waits for the averages. */
        void finish();

        @Override
        default void close() {}
    }

    /** Ways to average gradients. */
    private enum Mode {
        /** No communication. */
        NONE,
        /** An all-reduce of all gradients after the backward pass. */
        AFTER_BACKWARD,
        /** {@link DistributedDataParallel}, with {@code zero_grad()}, after which gradients are new tensors. */
        DISTRIBUTED_DATA_PARALLEL,
        /** The same with {@code zero_grad(false)}, which fills the gradients in the buckets with zeros. */
        DISTRIBUTED_DATA_PARALLEL_KEEPING,
        /** The preset's Gloo, after the backward pass. */
        GLOO,
        /** The preset's Reducer over Gloo, during the backward pass. */
        REDUCER;

        GradientSync sync(Communicator comm, Net net) {
            List<Tensor> parameters = net.references();
            return switch (this) {
                case NONE -> () -> {};
                case AFTER_BACKWARD -> () -> allReduce(comm, parameters);
                case DISTRIBUTED_DATA_PARALLEL, DISTRIBUTED_DATA_PARALLEL_KEEPING -> overlapped(comm, net);
                case GLOO -> new GlooSync(comm, parameters, 0);
                case REDUCER -> new GlooSync(comm, parameters, BUCKET_BYTES);
            };
        }

        /** Returns true if gradients keep their memory from step to step. */
        boolean keepsGradients() {
            return this == DISTRIBUTED_DATA_PARALLEL_KEEPING;
        }
    }

    private static void allReduce(Communicator comm, List<Tensor> parameters) {
        List<DataBuffer> gradients = new ArrayList<>();
        for (Tensor parameter : parameters) {
            Tensor gradient = new Tensor(parameter.grad());
            gradients.add(DataBuffer.host(gradient.data_ptr().address(), gradient.numel(), DataType.FLOAT32, gradient));
        }
        comm.allReduce(gradients, ReduceOp.AVG).await();
    }

    private static GradientSync overlapped(Communicator comm, Net net) {
        DistributedDataParallel ddp = DistributedDataParallel.builder(comm, net)
                .bucketBytes(BUCKET_BYTES)
                .build();
        return new GradientSync() {
            @Override
            public void finish() {
                ddp.synchronize();
            }

            @Override
            public void close() {
                ddp.close();
            }
        };
    }

    private static final class Net extends Module {

        private final LinearImpl in;
        private final LinearImpl hidden;
        private final LinearImpl out;

        Net(long width) {
            in = register_module("in", new LinearImpl(width, width));
            hidden = register_module("hidden", new LinearImpl(width, width));
            out = register_module("out", new LinearImpl(width, 10));
        }

        Tensor forward(Tensor x) {
            return out.forward(relu(hidden.forward(relu(in.forward(x)))));
        }

        List<Tensor> references() {
            List<Tensor> all = new ArrayList<>();
            for (long i = 0; i < parameters().size(); i++) {
                all.add(Tensors.reference(parameters().get(i)));
            }
            return all;
        }
    }

    /** Times in ms. */
    private static final class Times {

        private final List<Double> steps = new ArrayList<>();
        private final List<Double> waits = new ArrayList<>();

        void add(long begin, long backward, long waited, long end) {
            steps.add((end - begin) / 1e6);
            waits.add((waited - backward) / 1e6);
        }

        String medians() {
            return String.format(Locale.ROOT, "step %.2f wait %.2f", median(steps), median(waits));
        }

        private static double median(List<Double> values) {
            return values.stream().sorted().toList().get(values.size() / 2);
        }
    }

    public static void main(String[] args) {
        long width = Long.parseLong(args[0]);
        int rounds = Integer.parseInt(args[1]);
        LibTorch.load();
        torch.set_num_threads(1);
        try (Communicator comm = Communicator.fromEnvironment()) {
            Map<Mode, Times> times = new EnumMap<>(Mode.class);
            for (Mode mode : Mode.values()) {
                times.put(mode, new Times());
            }
            manual_seed(7);
            Net net = new Net(width);
            Tensor x = randn(SAMPLES, width);
            Tensor y = randint(10, new long[] {SAMPLES}, new TensorOptions(ScalarType.Long));
            Optimizer optimizer = new SGD(net.parameters(), new SGDOptions(0.001));
            for (int round = 0; round < rounds; round++) {
                times.forEach((mode, its) -> measure(mode, its, comm, net, optimizer, x, y));
            }
            if (comm.rank() == 0) {
                double megabytes =
                        net.references().stream().mapToLong(Tensors::bytes).sum() / 1e6;
                times.forEach((mode, its) ->
                        System.out.printf(Locale.ROOT, "%.1f MB %s %s%n", megabytes, mode, its.medians()));
            }
        }
    }

    private static void measure(
            Mode mode, Times times, Communicator comm, Net net, Optimizer optimizer, Tensor x, Tensor y) {
        try (GradientSync sync = mode.sync(comm, net)) {
            for (int step = 0; step < WARM_UP + STEPS; step++) {
                comm.barrier().await();
                PointerScope scope = new PointerScope();
                long begin = System.nanoTime();
                optimizer.zero_grad(!mode.keepsGradients());
                sync.begin();
                cross_entropy_loss(net.forward(x), y).backward();
                long backward = System.nanoTime();
                sync.finish();
                long waited = System.nanoTime();
                optimizer.step();
                if (step >= WARM_UP) {
                    times.add(begin, backward, waited, System.nanoTime());
                }
                scope.close();
            }
        }
        optimizer.zero_grad();
    }
}
