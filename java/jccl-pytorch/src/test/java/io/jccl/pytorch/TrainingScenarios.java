package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.clip_grad_norm_;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.full;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;

import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.MemoryFormat;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Gradients and their averages on two ranks. {@link TrainingTest} starts both. */
final class TrainingScenarios {

    private TrainingScenarios() {}

    public static void main(String[] args) {
        LibTorch.load();
        torch.set_num_threads(1);
        new Scenarios()
                .add("averages", TrainingScenarios::averages)
                .add("buckets", TrainingScenarios::buckets)
                .add("overlap", TrainingScenarios::overlap)
                .add("types", TrainingScenarios::types)
                .add("strides", TrainingScenarios::strides)
                .add("sparse gradients", TrainingScenarios::sparseGradients)
                .add("shared parameter", TrainingScenarios::sharedParameter)
                .add("frozen parameter", TrainingScenarios::frozenParameter)
                .add("unused parameters", TrainingScenarios::unusedParameters)
                .add("unused parameters keep gradients", TrainingScenarios::unusedParametersKeepGradients)
                .add("unannounced unused parameter", TrainingScenarios::unannouncedUnusedParameter)
                .add("accumulation", TrainingScenarios::accumulation)
                .add("second backward pass", TrainingScenarios::secondBackwardPass)
                .add("backward pass in a hook", TrainingScenarios::backwardPassInAHook)
                .add("misplaced calls", TrainingScenarios::misplacedCalls)
                .add("clipping", TrainingScenarios::clipping)
                .add("broadcast buffers", TrainingScenarios::broadcastBuffers)
                .add("own buffers", TrainingScenarios::ownBuffers)
                .add("equal parameters", TrainingScenarios::equalParameters)
                .add("different modules", TrainingScenarios::differentModules)
                .add("different options", TrainingScenarios::differentOptions)
                .add("unsuitable modules", TrainingScenarios::unsuitableModules)
                .add("converted module", TrainingScenarios::convertedModule)
                .add("failing hook", TrainingScenarios::failingHook)
                .add("half precision", TrainingScenarios::halfPrecision)
                .add("wire format", TrainingScenarios::wireFormat)
                .add("unsuitable compression", TrainingScenarios::unsuitableCompression)
                .add("closed", TrainingScenarios::closed)
                .run();
    }

    /** A module with parameters of its own. */
    private static final class Parameters extends Module {

        private final List<Tensor> all = new ArrayList<>();

        Tensor add(Tensor values) {
            Tensor parameter = register_parameter("p" + all.size(), values, true);
            all.add(new Tensor(parameter));
            return all.get(all.size() - 1);
        }

        static Parameters of(int count) {
            Parameters module = new Parameters();
            for (int i = 0; i < count; i++) {
                module.add(ones(4));
            }
            return module;
        }
    }

    /** Returns a loss whose gradient in each element of the parameter is {@code factor}. */
    private static Tensor loss(Tensor parameter, double factor) {
        return parameter.mul(new Scalar(factor)).sum();
    }

    private static void requireGradient(Tensor parameter, double expected) {
        Tensor gradient = parameter.grad();
        assertThat(gradient.defined()).isTrue();
        assertThat(gradient.to(ScalarType.Double).min().item_double()).isEqualTo(expected);
        assertThat(gradient.to(ScalarType.Double).max().item_double()).isEqualTo(expected);
    }

    private static void clear(Tensor parameter) {
        parameter.mutable_grad().put(new Tensor());
    }

    private static void averages(Communicator comm) {
        Parameters module = new Parameters();
        Tensor p = module.add(full(new long[] {5}, new Scalar((float) comm.rank())));
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            assertThat(p.detach().max().item_float()).isZero(); // rank 0's
            for (boolean fresh : new boolean[] {true, false, true}) {
                if (fresh) {
                    clear(p);
                } else {
                    p.mutable_grad().zero_();
                }
                loss(p, comm.rank() + 1).backward();
                ddp.synchronize();
                requireGradient(p, 1.5);
            }
            assertThat(ddp.steps()).isEqualTo(3);
            assertThat(ddp.communicator()).isSameAs(comm);
        }
    }

    private static void buckets(Communicator comm) {
        Parameters module = Parameters.of(5);
        module.add(ones(1).to(ScalarType.Double));
        List<List<String>> names = new ArrayList<>();
        CommHook hook = (ranks, bucket) -> {
            names.add(bucket.parameterNames());
            assertThat(bucket.index()).isEqualTo(names.size() - 1);
            assertThat(bucket.tensor().numel()).isEqualTo(bucket.buffer().count());
            assertThat(bucket.memory().orElseThrow().bytes())
                    .isEqualTo(bucket.buffer().bytes());
            return CommHook.AVERAGE.reduce(ranks, bucket);
        };
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, module)
                .bucketBytes(2 * 4 * 128) // two gradients of float32, each padded to 128 elements
                .commHook(hook)
                .build()) {
            Tensor sum = ones(1).to(ScalarType.Double);
            for (int i = 0; i < module.all.size(); i++) {
                sum = sum.add(loss(module.all.get(i), i + comm.rank()));
            }
            sum.backward();
            ddp.synchronize();
            for (int i = 0; i < module.all.size(); i++) {
                requireGradient(module.all.get(i), i + 0.5);
            }
        }
        assertThat(names)
                .containsExactly(
                        List.of("parameters.p5"),
                        List.of("parameters.p4", "parameters.p3"),
                        List.of("parameters.p2", "parameters.p1"),
                        List.of("parameters.p0"));
    }

    /** Requires that all buckets except the last are issued before the backward pass ends. */
    private static void overlap(Communicator comm) {
        Nets.Net net = Nets.Kind.MLP.create(ScalarType.Float);
        List<Integer> issued = new ArrayList<>();
        CommHook hook = (ranks, bucket) -> {
            issued.add(bucket.index());
            return CommHook.AVERAGE.reduce(ranks, bucket);
        };
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, net)
                .bucketBytes(1)
                .commHook(hook)
                .build()) {
            net.forward(net.samples(4, ScalarType.Float)).sum().backward();
            assertThat(issued).containsExactly(0, 1, 2, 3, 4);
            ddp.synchronize();
            assertThat(issued).containsExactly(0, 1, 2, 3, 4, 5);
        }
    }

    private static void types(Communicator comm) {
        List<ScalarType> types =
                List.of(ScalarType.Float, ScalarType.BFloat16, ScalarType.Half, ScalarType.Double, ScalarType.Float);
        Parameters module = new Parameters();
        types.forEach(type -> module.add(ones(3).to(type)));
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            for (int step = 0; step < 2; step++) {
                module.all.forEach(TrainingScenarios::clear);
                Tensor sum = ones(1).to(ScalarType.Double);
                for (Tensor parameter : module.all) {
                    sum = sum.add(loss(parameter, comm.rank() + 1).to(ScalarType.Double));
                }
                sum.backward();
                ddp.synchronize();
                for (int i = 0; i < types.size(); i++) {
                    requireGradient(module.all.get(i), 1.5);
                    assertThat(module.all.get(i).grad().scalar_type().intern()).isEqualTo(types.get(i));
                }
            }
        }
    }

    /** Requires that gradients have the strides of their parameters, and the averages at the right indices. */
    private static void strides(Communicator comm) {
        Parameters module = new Parameters();
        Tensor transposed = module.add(randn(4, 3).t());
        Tensor last = module.add(randn(2, 3, 4, 4).contiguous(MemoryFormat.ChannelsLast));
        Tensor spaced = module.add(randn(6, 8).select(1, 3)); // neighbours are eight elements apart
        Tensor factors = randn(3, 4);
        Tensor images = randn(2, 3, 4, 4);
        Tensor vector = randn(6);
        Distributed.over(comm).broadcast(factors, 0).await();
        Distributed.over(comm).broadcast(images, 0).await();
        Distributed.over(comm).broadcast(vector, 0).await();
        Scalar mine = new Scalar(comm.rank() * 2f);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            for (boolean fresh : new boolean[] {true, false}) {
                for (Tensor parameter : module.all) {
                    if (fresh) {
                        clear(parameter);
                    } else {
                        parameter.mutable_grad().zero_();
                    }
                }
                transposed
                        .mul(factors)
                        .sum()
                        .add(last.mul(images).sum())
                        .add(spaced.mul(vector).sum())
                        .mul(mine)
                        .backward();
                ddp.synchronize();
                assertThat(transposed.grad().equal(factors)).isTrue();
                assertThat(last.grad().equal(images)).isTrue();
                assertThat(spaced.grad().equal(vector)).isTrue();
                assertThat(Tensors.strides(transposed.grad())).containsExactly(1, 3);
                assertThat(last.grad().is_contiguous(MemoryFormat.ChannelsLast)).isTrue();
            }
            ddp.requireEqualParameters();
        }
    }

    private static void sparseGradients(Communicator comm) {
        EmbeddingOptions options = new EmbeddingOptions(10, 4);
        options.sparse().put(true);
        EmbeddingImpl embedding = new EmbeddingImpl(options);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, embedding)) {
            for (int step = 0; step < 2; step++) {
                embedding.zero_grad(step == 0);
                embedding.forward(torch.tensor(comm.rank(), 5L, 5L)).sum().backward();
                ddp.synchronize();
                Tensor gradient = embedding.weight().grad();
                assertThat(gradient.is_sparse()).isFalse();
                double[] expected = {0.5, 0.5, 0, 0, 0, 2, 0, 0, 0, 0};
                for (int i = 0; i < expected.length; i++) {
                    assertThat(gradient.select(0, i).max().item_double()).isEqualTo(expected[i]);
                    assertThat(gradient.select(0, i).min().item_double()).isEqualTo(expected[i]);
                }
            }
        }
    }

    private static void sharedParameter(Communicator comm) {
        Nets.Mlp first = new Nets.Mlp();
        Parameters module = new Parameters();
        module.register_module("first", first);
        module.register_module("second", first); // its parameters have two names
        Tensor p = module.add(ones(4));
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            p.mul(p)
                    .mul(new Scalar(comm.rank() + 1f))
                    .sum()
                    .add(loss(p, comm.rank()))
                    .add(first.forward(first.samples(2, ScalarType.Float)).sum())
                    .add(first.forward(first.samples(2, ScalarType.Float)).sum())
                    .backward();
            ddp.synchronize();
            requireGradient(p, 3 + 0.5);
            assertThat(EqualityScenarios.spread(comm, List.of(first.out.weight().grad())))
                    .isZero();
        }
    }

    private static void frozenParameter(Communicator comm) {
        Parameters module = Parameters.of(2);
        module.all.get(1).set_requires_grad(false);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            loss(module.all.get(0), comm.rank()).backward();
            ddp.synchronize();
            requireGradient(module.all.get(0), 0.5);
            assertThat(module.all.get(1).grad().defined()).isFalse();
        }
    }

    /** Rank 1 does not use the second parameter, and no rank uses the third. */
    private static void unusedParameters(Communicator comm) {
        Parameters module = Parameters.of(3);
        Tensor a = module.all.get(0);
        Tensor b = module.all.get(1);
        Tensor c = module.all.get(2);
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, module)
                .findUnusedParameters(true)
                .bucketBytes(1)
                .build()) {
            for (int step = 0; step < 3; step++) {
                module.all.forEach(TrainingScenarios::clear);
                (comm.rank() == 1 ? loss(a, 1) : loss(a, 1).add(loss(b, 2))).backward();
                ddp.synchronize();
                requireGradient(a, 1);
                requireGradient(b, 1); // half of 2
                assertThat(c.grad().defined()).isFalse();
            }
        }
    }

    private static void unusedParametersKeepGradients(Communicator comm) {
        Parameters module = Parameters.of(2);
        Tensor a = module.all.get(0);
        Tensor b = module.all.get(1);
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, module)
                .findUnusedParameters(true)
                .build()) {
            loss(a, 1).add(loss(b, 0.1)).backward();
            ddp.synchronize();
            Tensor before = b.grad().clone();
            b.mutable_grad().mul_(new Scalar(1 + comm.rank())); // so that an average of the ranks would differ
            clear(a);
            loss(a, 1).backward();
            ddp.synchronize();
            requireGradient(a, 1);
            assertThat(b.grad().equal(before.mul(new Scalar(1 + comm.rank())))).isTrue();
        }
    }

    private static void unannouncedUnusedParameter(Communicator comm) {
        Parameters module = Parameters.of(2);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            Tensor used = loss(module.all.get(0), 1);
            (comm.rank() == 1 ? used : used.add(loss(module.all.get(1), 1))).backward();
            assertThatThrownBy(ddp::synchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("ranks=[1]: the backward pass did not reach all parameters")
                    .hasMessageContaining("findUnusedParameters(true)")
                    .satisfies(e -> assertThat(e.getMessage().contains("on this rank not parameters.p1"))
                            .isEqualTo(comm.rank() == 1));
            module.all.forEach(TrainingScenarios::clear);
            loss(module.all.get(0), comm.rank()).add(loss(module.all.get(1), 1)).backward();
            ddp.synchronize();
            requireGradient(module.all.get(0), 0.5);
            assertThat(ddp.steps()).isEqualTo(1);
        }
    }

    private static void accumulation(Communicator comm) {
        Parameters module = Parameters.of(2);
        Tensor p = module.all.get(0);
        Tensor q = module.all.get(1);
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, module)
                .findUnusedParameters(true)
                .build()) {
            for (boolean fresh : new boolean[] {true, false, true}) {
                for (Tensor parameter : module.all) {
                    if (fresh) {
                        clear(parameter);
                    } else {
                        parameter.mutable_grad().zero_();
                    }
                }
                DistributedDataParallel.NoSync accumulating = ddp.noSync();
                loss(p, comm.rank() + 1).backward();
                loss(p, comm.rank() + 1).add(loss(q, comm.rank())).backward();
                accumulating.close();
                accumulating.close();
                loss(p, 10 * (comm.rank() + 1)).backward();
                ddp.synchronize();
                requireGradient(p, 18); // the average of 12 and 24
                requireGradient(q, 0.5); // used only within noSync()
            }
        }
    }

    private static void secondBackwardPass(Communicator comm) {
        Parameters module = Parameters.of(2);
        try (DistributedDataParallel ddp =
                DistributedDataParallel.builder(comm, module).bucketBytes(1).build()) {
            loss(module.all.get(0), 1).add(loss(module.all.get(1), 1)).backward();
            if (comm.rank() == 0) {
                loss(module.all.get(0), 1).add(loss(module.all.get(1), 1)).backward();
            }
            assertThatThrownBy(ddp::synchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(
                            comm.rank() == 0
                                    ? "got a second gradient before synchronize(); call synchronize() after each"
                                    : "ranks=[0]: synchronize() failed there");
            module.all.forEach(TrainingScenarios::clear);
            loss(module.all.get(0), 1).add(loss(module.all.get(1), comm.rank())).backward();
            ddp.synchronize();
            requireGradient(module.all.get(1), 0.5);
        }
    }

    /**
     * Requires that a gradient is averaged only after autograd has added it, although the hook of another parameter is called
     * before.
     */
    private static void backwardPassInAHook(Communicator comm) {
        Parameters module = Parameters.of(2);
        Tensor first = module.all.get(0);
        Tensor last = module.all.get(1);
        CommHook atOnce = (ranks, bucket) -> {
            ranks.allReduce(bucket.buffer(), ReduceOp.AVG).await();
            return () -> {};
        };
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, module)
                .bucketBytes(1)
                .commHook(atOnce)
                .build()) {
            VoidTensorHook hook = new VoidTensorHook() {
                @Override
                public void call(TensorBase gradient) {
                    AutoGradMode mode = new AutoGradMode(true); // off in hooks
                    loss(first, comm.rank()).backward();
                    mode.close();
                }
            };
            last.register_hook(hook); // called after that of ddp, before the gradient is added
            for (boolean fresh : new boolean[] {true, false}) {
                for (Tensor parameter : module.all) {
                    if (fresh) {
                        clear(parameter);
                    } else {
                        parameter.mutable_grad().zero_();
                    }
                }
                loss(last, comm.rank() + 1).backward();
                ddp.synchronize();
                requireGradient(last, 1.5);
                requireGradient(first, 0.5);
            }
            assertThat(hook.isNull()).isFalse(); // keeps it reachable
        }
    }

    private static void misplacedCalls(Communicator comm) {
        Parameters module = Parameters.of(1);
        DistributedDataParallel ddp = DistributedDataParallel.over(comm, module);
        DistributedDataParallel.NoSync accumulating = ddp.noSync();
        assertThatThrownBy(ddp::synchronize)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("noSync=1: expected synchronize() outside of noSync()");
        accumulating.close();
        loss(module.all.get(0), 1).backward();
        assertThatThrownBy(ddp::noSync)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("expected noSync() after synchronize()");
        ddp.synchronize();
        assertThatThrownBy(() -> ddp.recover(comm, null)).isInstanceOf(IllegalArgumentException.class);
        ddp.close();
        ddp.close();
        assertThatThrownBy(ddp::synchronize)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("build a new one");
        assertThatThrownBy(() -> DistributedDataParallel.builder(comm, module).bucketBytes(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("bucketBytes=0");
        assertThatThrownBy(() -> DistributedDataParallel.builder(comm, module).commHook(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("commHook=null");
        assertThatThrownBy(() -> DistributedDataParallel.over(comm, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("module=null");
    }

    private static void clipping(Communicator comm) {
        Parameters module = Parameters.of(1);
        Tensor p = module.all.get(0);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            loss(p, 10 * comm.rank()).backward();
            ddp.synchronize();
            double norm = clip_grad_norm_(new TensorVector(p), 1);
            assertThat(norm).isEqualTo(10); // the norm of four times 5
            assertThat(p.grad().norm().item_double()).isBetween(0.999, 1.001);
            assertThat(EqualityScenarios.spread(comm, List.of(p.grad()))).isZero();
        }
    }

    private static void train(Communicator comm, Nets.Net net, DistributedDataParallel ddp, int steps) {
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.05));
        for (int step = 0; step < steps; step++) {
            optimizer.zero_grad();
            Tensor x = net.samples(8, ScalarType.Float).add(new Scalar((float) comm.rank()));
            Tensor y = randint(10, new long[] {8}, new TensorOptions(ScalarType.Long));
            cross_entropy_loss(net.forward(x), y).backward();
            ddp.synchronize();
            optimizer.step();
        }
    }

    private static void broadcastBuffers(Communicator comm) {
        Nets.Cnn net = new Nets.Cnn();
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, net)) {
            train(comm, net, ddp, 3);
            assertThat(EqualityScenarios.spread(comm, net.bufferList())).isZero();
            assertThat(net.norm.running_mean().abs().sum().item_double()).isPositive();
            assertThat(net.norm.num_batches_tracked().item_long()).isEqualTo(3);
            ddp.requireEqualParameters();
        }
    }

    private static void ownBuffers(Communicator comm) {
        Nets.Cnn net = new Nets.Cnn();
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, net)
                .broadcastBuffers(false)
                .build()) {
            train(comm, net, ddp, 3);
            assertThat(EqualityScenarios.spread(comm, List.of(net.norm.running_mean())))
                    .isPositive();
            ddp.requireEqualParameters();
        }
    }

    private static void equalParameters(Communicator comm) {
        Parameters module = Parameters.of(3);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            ddp.requireEqualParameters();
            if (comm.rank() == 1) {
                module.all.get(2).detach().add_(new Scalar(1e-6f));
            }
            assertThatThrownBy(ddp::requireEqualParameters)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("rank=1 parameters.p2 checksum ");
        }
    }

    private static void refused(Communicator comm, Module module, String message) {
        assertThatThrownBy(() -> DistributedDataParallel.over(comm, module))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    private static void differentModules(Communicator comm) {
        refused(comm, Parameters.of(2 + comm.rank()), "rank=1 parameters.p2 Float[4] requires_grad: expected none");
        Parameters shape = new Parameters();
        shape.add(ones(4 + comm.rank()));
        refused(comm, shape, "rank=1 parameters.p0 Float[5] requires_grad: expected parameters.p0 Float[4]");
        Parameters type = new Parameters();
        type.add(ones(4).to(comm.rank() == 0 ? ScalarType.Float : ScalarType.Double));
        refused(comm, type, "rank=1 parameters.p0 Double[4] requires_grad: expected parameters.p0 Float[4]");
        Parameters layout = new Parameters();
        layout.add(comm.rank() == 0 ? ones(4, 3) : ones(3, 4).t());
        refused(comm, layout, "rank=1 parameters.p0 Float[4, 3] strides [1, 4] requires_grad: expected parameters.p0");
        Parameters frozen = Parameters.of(2);
        frozen.all.get(1).set_requires_grad(comm.rank() == 0);
        refused(comm, frozen, "rank=1 parameters.p1 Float[4]: expected parameters.p1 Float[4] requires_grad");
    }

    private static void differentOptions(Communicator comm) {
        assertThatThrownBy(() -> DistributedDataParallel.builder(comm, Parameters.of(1))
                        .findUnusedParameters(comm.rank() == 1)
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("findUnusedParameters=true broadcastBuffers=true: expected options bucketBytes=");
    }

    private static void unsuitableModules(Communicator comm) {
        refused(comm, new Parameters(), "module.parameters=0: expected at least one");
        refused(
                comm,
                comm.rank() == 0 ? Parameters.of(1) : new Parameters(),
                "rank=1 module refused (java.lang.IllegalArgumentException: module.parameters=0");
        Parameters complex = new Parameters();
        complex.add(ones(2).to(ScalarType.ComplexFloat));
        refused(comm, complex, "parameters.p0.scalar_type=ComplexFloat");
    }

    private static void convertedModule(Communicator comm) {
        Nets.Net net = Nets.Kind.MLP.create(ScalarType.Float);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, net)) {
            net.to(ScalarType.Double, false);
            net.forward(net.samples(4, ScalarType.Double)).sum().backward();
            assertThatThrownBy(ddp::synchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("scalar_type=Double: expected Float")
                    .hasMessageContaining("convert the module before");
        }
    }

    /** Requires that the exception of a hook, whose type libtorch would lose, reaches the caller. */
    private static void failingHook(Communicator comm) {
        Parameters module = Parameters.of(2);
        IllegalStateException cause = new IllegalStateException("of this rank");
        CommHook hook = (ranks, bucket) -> {
            if (ranks.rank() == 0 && bucket.index() == 0) {
                throw cause;
            }
            return ranks.allReduce(bucket.buffer(), ReduceOp.AVG)::await;
        };
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, module)
                .bucketBytes(1)
                .commHook(hook)
                .build()) {
            loss(module.all.get(0), 1).add(loss(module.all.get(1), 1)).backward();
            long begin = System.nanoTime();
            if (comm.rank() == 0) {
                assertThatThrownBy(ddp::synchronize).isSameAs(cause);
            } else {
                assertThatThrownBy(ddp::synchronize).isInstanceOf(AbortedException.class);
            }
            assertThat(System.nanoTime() - begin).isLessThan(TimeUnit.SECONDS.toNanos(20));
        }
    }

    /** Returns the first average of the ranks' gradients, and the mean of the averages of all steps. */
    private static double[] meanOfAverages(Communicator comm, CommHook hook, ScalarType type, double... gradients) {
        Parameters module = new Parameters();
        Tensor p = module.add(ones(200).to(type));
        int steps = 64;
        double sum = 0;
        double first = 0;
        try (DistributedDataParallel ddp =
                DistributedDataParallel.builder(comm, module).commHook(hook).build()) {
            for (int step = 0; step < steps; step++) {
                clear(p);
                loss(p, gradients[comm.rank()]).backward();
                ddp.synchronize();
                assertThat(EqualityScenarios.spread(comm, List.of(p.grad()))).isZero();
                sum += p.grad().mean().item_double();
                first = step == 0 ? sum : first;
            }
        }
        return new double[] {first, sum / steps};
    }

    /**
     * Requires that single averages are rounded, and that their mean over many steps is not. Only one rank has a gradient,
     * because half precision also rounds sums.
     */
    private static void requireErrorFeedback(Communicator comm, CommHook hook, ScalarType type, double rounding) {
        double[] averages = meanOfAverages(comm, hook, type, 0, 0.2);
        double first = Math.abs(averages[0] - 0.1);
        assertThat(first).isBetween(0.1 * rounding / 1000, 0.1 * rounding);
        assertThat(Math.abs(averages[1] - 0.1)).isLessThan(first / 8);
    }

    private static void halfPrecision(Communicator comm) {
        for (ScalarType type : List.of(ScalarType.Float, ScalarType.Double)) {
            requireErrorFeedback(comm, CommHooks.halfPrecision(ScalarType.BFloat16), type, 0x1p-8);
            requireErrorFeedback(comm, CommHooks.halfPrecision(ScalarType.Half), type, 0x1p-11);
        }
        double[] large = meanOfAverages(comm, CommHooks.halfPrecision(ScalarType.Half), ScalarType.Float, 40000, 64000);
        assertThat(large[0]).isEqualTo(52000); // the sum of both would be infinite
        double[] half = meanOfAverages(comm, CommHooks.halfPrecision(ScalarType.BFloat16), ScalarType.Half, 0.5, 1);
        assertThat(half[0]).isEqualTo(0.75);
    }

    private static void wireFormat(Communicator comm) {
        for (ScalarType type : List.of(ScalarType.Float, ScalarType.Double)) {
            requireErrorFeedback(comm, CommHooks.wireFormat(WireFormat.BFLOAT16), type, 0x1p-8);
        }
        double[] half = meanOfAverages(comm, CommHooks.wireFormat(WireFormat.INT8_BLOCK), ScalarType.Half, 0.5, 1);
        assertThat(half[0]).isEqualTo(0.75);
    }

    private static void unsuitableCompression(Communicator comm) {
        assertThatThrownBy(() -> CommHooks.halfPrecision(ScalarType.Float))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("type=Float: expected Half or BFloat16");
        assertThatThrownBy(() -> CommHooks.wireFormat(WireFormat.EXACT))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("format=exact: expected a format that rounds");
        comm.barrier().await();
    }

    private static void closed(Communicator comm) {
        Parameters module = Parameters.of(1);
        Tensor p = module.all.get(0);
        Tensor kept;
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, module)) {
            loss(p, comm.rank()).backward();
            ddp.synchronize();
            kept = new Tensor(p.grad());
        }
        System.gc();
        requireGradient(p, 0.5);
        assertThat(kept.max().item_double()).isEqualTo(0.5);
        loss(p, 1).backward(); // without hooks
        requireGradient(p, 1.5);
    }
}
