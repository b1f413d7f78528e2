package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.bytedeco.pytorch.global.torch.full;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.zeros;

import io.jccl.Communicator;
import io.jccl.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Uses of the preset that crash a JVM or change other tensors if the library does not keep memory alive. {@link
 * TrapsTest} starts two ranks for each.
 */
final class Traps {

    static final String RESULT = "RESULT ok";

    private static final long LARGE = 1 << 20;

    private Traps() {}

    public static void main(String[] args) {
        LibTorch.load();
        try (Communicator comm = Communicator.fromEnvironment()) {
            switch (args[0]) {
                case "unpacking" -> zeros(1);
                case "collections" -> collections(comm);
                case "forgotten" -> forgotten(comm);
                case "owners" -> owners(comm);
                case "deallocate" -> deallocate(comm);
                case "scope" -> scope(comm);
                case "built in a scope" -> builtInScope(comm);
                case "nested" -> nested(comm);
                case "threads" -> threads(comm);
                default -> throw new IllegalArgumentException(args[0]);
            }
        }
        System.out.println(RESULT);
    }

    private static void step(Nets.Net net, Optimizer optimizer, DistributedDataParallel ddp) {
        PointerScope scope = new PointerScope();
        optimizer.zero_grad();
        net.forward(net.samples(4, ScalarType.Float)).sum().backward();
        ddp.synchronize();
        optimizer.step();
        scope.close();
    }

    /** Trains 200 steps with collections between them. */
    private static void collections(Communicator comm) {
        Nets.Net net = Nets.Kind.MLP.create(ScalarType.Float);
        Optimizer optimizer = EqualityScenarios.optimizer("SGD", net);
        try (DistributedDataParallel ddp =
                DistributedDataParallel.builder(comm, net).bucketBytes(4096).build()) {
            for (int i = 0; i < 200; i++) {
                step(net, optimizer, ddp);
                System.gc();
            }
            assertThat(ddp.steps()).isEqualTo(200);
            ddp.requireEqualParameters();
        }
    }

    /** Trains without a reference to the object whose hooks libtorch calls. */
    private static void forgotten(Communicator comm) {
        Module module = new Module();
        Tensor first = new Tensor(module.register_parameter("first", ones(1000), true));
        Tensor second = new Tensor(module.register_parameter("second", ones(1000), true));
        CountingHook hook = new CountingHook();
        build(comm, module, hook);
        for (int i = 0; i < 20; i++) {
            System.gc();
            zeros(1000);
        }
        first.mul(new Scalar(2f)).mul(second).sum().backward(); // reaches the second parameter first
        assertThat(hook.calls).isEqualTo(1); // the hook of the second gradient issues the bucket of the first
    }

    private static final class CountingHook implements CommHook {
        private int calls;

        @Override
        public Completion reduce(Communicator comm, GradientBucket bucket) {
            calls++;
            return AVERAGE.reduce(comm, bucket);
        }
    }

    private static void build(Communicator comm, Module module, CommHook hook) {
        DistributedDataParallel.builder(comm, module)
                .bucketBytes(1)
                .commHook(hook)
                .build();
    }

    /** Reduces tensors that point into objects which are freed meanwhile. */
    private static void owners(Communicator comm) {
        for (int i = 0; i < 20; i++) {
            Module module = new Module();
            module.register_parameter("p", ones(LARGE), true);
            TensorVector parameters = module.parameters();
            parameters.get(0).sum().backward();
            TensorWork work = Distributed.over(comm).allReduce(parameters.get(0).grad(), ReduceOp.SUM);
            parameters.deallocate();
            module.deallocate();
            System.gc();
            Tensor other = zeros(LARGE); // takes the memory if it is free
            work.await();
            assertThat(other.abs().sum().item_float()).isZero();
            other.deallocate();
        }
    }

    private static void deallocate(Communicator comm) {
        for (int i = 0; i < 20; i++) {
            Tensor tensor = ones(LARGE);
            TensorWork work = Distributed.over(comm).allReduce(tensor, ReduceOp.SUM);
            if (comm.rank() == 0) {
                tensor.deallocate();
                System.gc();
            }
            Tensor other = zeros(LARGE); // takes the memory if it is free
            work.await();
            assertThat(other.abs().sum().item_float()).isZero();
            if (comm.rank() == 1) {
                assertThat(tensor.min().item_float()).isEqualTo(2);
            }
            other.deallocate();
        }
    }

    private static void scope(Communicator comm) {
        for (int i = 0; i < 20; i++) {
            PointerScope scope = new PointerScope();
            TensorWork work = Distributed.over(comm).allReduce(ones(LARGE), ReduceOp.SUM);
            TensorWork copied =
                    Distributed.over(comm).allReduce(ones(1000, 1000).t(), ReduceOp.SUM);
            scope.close();
            Tensor other = zeros(LARGE);
            work.await();
            copied.await();
            assertThat(other.abs().sum().item_float()).isZero();
        }
    }

    private static void builtInScope(Communicator comm) {
        Nets.Net net = Nets.Kind.CNN.create(ScalarType.Float);
        Optimizer optimizer = EqualityScenarios.optimizer("SGD", net);
        PointerScope scope = new PointerScope();
        DistributedDataParallel ddp =
                DistributedDataParallel.builder(comm, net).bucketBytes(1024).build();
        scope.close();
        for (int i = 0; i < 20; i++) {
            step(net, optimizer, ddp);
            System.gc();
        }
        ddp.requireEqualParameters();
        ddp.close();
    }

    /** Runs a backward pass within hooks of others, so deep that libtorch continues on threads of its own. */
    private static void nested(Communicator comm) {
        Nets.Net net = Nets.Kind.MLP.create(ScalarType.Float);
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CommHook hook = (ranks, bucket) -> {
            threads.add(Thread.currentThread());
            return CommHook.AVERAGE.reduce(ranks, bucket);
        };
        try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, net)
                .bucketBytes(1)
                .commHook(hook)
                .build()) {
            for (int step = 0; step < 3; step++) {
                net.zero_grad(true);
                nest(0, () -> net.forward(full(new long[] {4, 20}, new Scalar(comm.rank() + 1f)))
                        .sum()
                        .backward());
                ddp.synchronize();
                assertThat(net.parameterList().get(0).grad().abs().sum().item_float())
                        .isPositive();
            }
        }
        assertThat(threads).hasSizeGreaterThan(1);
    }

    private static final List<Object> KEPT = new ArrayList<>();

    private static void nest(int depth, Runnable innermost) {
        Tensor tensor = ones(2).set_requires_grad(true);
        VoidTensorHook hook = new VoidTensorHook() {
            @Override
            public void call(TensorBase gradient) {
                AutoGradMode mode = new AutoGradMode(true); // off in hooks
                if (depth < 75) {
                    nest(depth + 1, innermost);
                } else {
                    innermost.run();
                }
                mode.close();
            }
        };
        KEPT.add(hook);
        tensor.register_hook(hook);
        tensor.sum().backward();
    }

    /** Requires that ranks divide the cores, which libtorch otherwise uses in each rank. */
    private static void threads(Communicator comm) {
        int before = torch.get_num_threads();
        Nets.Net net = Nets.Kind.MLP.create(ScalarType.Float);
        try (DistributedDataParallel ddp = DistributedDataParallel.over(comm, net)) {
            int share = Math.max(1, Runtime.getRuntime().availableProcessors() / comm.size());
            int expected = System.getenv("OMP_NUM_THREADS").isEmpty() ? Math.min(before, share) : before;
            assertThat(torch.get_num_threads()).isEqualTo(expected);
            assertThat(ddp.steps()).isZero();
        }
    }
}
