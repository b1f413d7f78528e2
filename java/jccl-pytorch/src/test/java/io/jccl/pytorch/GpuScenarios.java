package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.arange;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randint;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Tensors on GPUs of two ranks: their pointers, their stream, and training. {@link GpuTest} starts both. */
final class GpuScenarios {

    private static final int STEPS = 5;
    private static final int BATCH = 32;

    private static TestGpu gpu;

    private GpuScenarios() {}

    public static void main(String[] args) {
        LibTorch.load();
        torch.set_num_threads(1);
        gpu = TestGpu.use();
        new Scenarios()
                .add("stream", GpuScenarios::stream)
                .add("every operation", GpuScenarios::everyOperation)
                .add("freed tensors", GpuScenarios::freedTensors)
                .add("training", comm -> train(comm, Nets.Kind.MLP, CommHook.AVERAGE, 1e-12))
                .add("training with buffers", comm -> train(comm, Nets.Kind.CNN, CommHook.AVERAGE, 1e-12))
                .add(
                        "training in half precision",
                        comm -> train(comm, Nets.Kind.MLP, CommHooks.halfPrecision(ScalarType.BFloat16), 1e-2))
                .add("overlap", GpuScenarios::overlap)
                .add("shared state", GpuScenarios::sharedState)
                .add("refusals", GpuScenarios::refusals)
                .run();
    }

    private static Tensor values(long count, long add) {
        return gpu.copy(
                arange(new Scalar((double) count)).add(new Scalar((double) add)).to(ScalarType.Double));
    }

    private static void require(Tensor actual, long count, double factor, double add) {
        Tensor expected = arange(new Scalar((double) count))
                .to(ScalarType.Double)
                .mul(new Scalar(factor))
                .add(new Scalar(add));
        assertThat(gpu.onHost(actual).equal(expected)).isTrue();
    }

    /** Operations follow each other on the stream, and no thread waits for one. */
    private static void stream(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        Tensor tensor = values(5000, comm.rank());
        Tensor gathered = gpu.copy(torch.zeros(10_000).to(ScalarType.Double));
        distributed.allReduce(tensor, ReduceOp.SUM);
        distributed.allReduce(tensor, ReduceOp.SUM);
        distributed.allGather(tensor, gathered);
        gpu.awaitStream();
        require(tensor, 5000, 4, 2);
        require(gathered.narrow(0, 5000, 5000), 5000, 4, 2);
    }

    private static void everyOperation(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        int rank = comm.rank();
        Tensor tensor = values(100, 7L * rank);
        Tensor other = values(100, 0);
        Tensor half = values(50, 0);
        distributed.broadcast(tensor, 1).await();
        require(tensor, 100, 1, 7);
        distributed.reduceScatter(tensor, half, ReduceOp.SUM).await();
        require(half, 50, 2, 14 + 100 * rank);
        distributed.allToAll(tensor, other).await();
        require(other.narrow(0, 50, 50), 50, 1, 7 + 50 * rank);
        distributed.sendReceive(values(100, rank), 1 - rank, other, 1 - rank).await();
        require(other, 100, 1, 1 - rank);
        (rank == 0 ? distributed.send(tensor, 1) : distributed.recv(other, 0)).await();
        require(rank == 0 ? tensor : other, 100, 1, 7);
    }

    /** The operation keeps the memory of a tensor that the application frees, and gives it up at its end. */
    private static void freedTensors(Communicator comm) throws InterruptedException {
        Tensor observed = values(1000, 0);
        if (comm.rank() == 0) {
            PointerScope scope = new PointerScope();
            Tensor passed = new Tensor(observed);
            Distributed.over(comm).allReduce(passed, ReduceOp.SUM);
            passed.deallocate();
            scope.close();
        } else {
            Distributed.over(comm).allReduce(observed, ReduceOp.SUM);
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (observed.use_count() > 1 && System.nanoTime() < end) {
            Thread.sleep(1);
        }
        assertThat(observed.use_count()).isEqualTo(1);
        require(observed, 1000, 2, 0);
    }

    /** Trains the same net in host memory and on the GPU; both must have the same parameters and buffers. */
    private static void train(Communicator comm, Nets.Kind kind, CommHook hook, double most) {
        manual_seed(3);
        Nets.Net onHost = kind.create(ScalarType.Double);
        manual_seed(3 + comm.rank()); // rank 0 decides
        Nets.Net onGpu = kind.create(ScalarType.Double);
        gpu.move(onGpu);
        Optimizer optimizer = EqualityScenarios.optimizer("SGD", onHost);
        Optimizer gpuOptimizer = EqualityScenarios.optimizer("SGD", onGpu);
        manual_seed(5 + comm.rank());
        Tensor x = onHost.samples(STEPS * BATCH, ScalarType.Double);
        Tensor y = randint(10, new long[] {STEPS * BATCH}, new TensorOptions(ScalarType.Long));
        try (DistributedDataParallel host = DistributedDataParallel.builder(comm, onHost)
                        .bucketBytes(1 << 12)
                        .build();
                DistributedDataParallel ddp = DistributedDataParallel.builder(comm, onGpu)
                        .bucketBytes(1 << 12)
                        .commHook(hook)
                        .build()) {
            for (int step = 0; step < STEPS; step++) {
                Tensor samples = x.narrow(0, step * BATCH, BATCH);
                Tensor labels = y.narrow(0, step * BATCH, BATCH);
                step(onHost, optimizer, host, samples, labels);
                step(onGpu, gpuOptimizer, ddp, gpu.copy(samples), gpu.copy(labels));
            }
            ddp.requireEqualParameters();
            for (Tensor parameter : onGpu.parameterList()) {
                assertThat(gpu.isOnGpu(parameter)).isTrue();
                assertThat(gpu.isOnGpu(new Tensor(parameter.grad()))).isTrue();
            }
        }
        assertThat(EqualityScenarios.distance(onGpu.parameterList(), onHost.parameterList()))
                .isLessThan(most);
        assertThat(EqualityScenarios.distance(onGpu.bufferList(), onHost.bufferList()))
                .satisfies(distance ->
                        assertThat(Double.isNaN(distance) || distance < most).isTrue());
    }

    /** Kernels of rank 0's backward pass end while a bucket waits for rank 1, which does not issue it before. */
    private static void overlap(Communicator comm) {
        Nets.Mlp net = new Nets.Mlp();
        gpu.move(net);
        Tensor x = gpu.copy(net.samples(4, ScalarType.Float));
        Tensor from = values(100, 5); // allocated before, because cuMemAlloc waits for kernels
        Tensor to = values(100, 0);
        try (Communicator other = comm.split(0, comm.rank()).orElseThrow()) {
            byte[] told = {1};
            CommHook hook = (ranks, bucket) -> {
                CommHook.Completion completion = CommHook.AVERAGE.reduce(ranks, bucket);
                if (comm.rank() == 0 && bucket.index() == 0) {
                    gpu.copyOnStream(to, from);
                    gpu.awaitStream();
                    require(to, 100, 1, 5);
                    other.send(1, DataBuffer.of(told)).await();
                }
                return completion;
            };
            try (DistributedDataParallel ddp = DistributedDataParallel.builder(comm, net)
                    .bucketBytes(1)
                    .commHook(hook)
                    .build()) {
                if (comm.rank() == 1) {
                    other.recv(0, DataBuffer.of(told)).await();
                }
                net.forward(x).sum().backward();
                ddp.synchronize();
            }
        }
    }

    private static void step(
            Nets.Net net, Optimizer optimizer, DistributedDataParallel ddp, Tensor samples, Tensor labels) {
        optimizer.zero_grad();
        cross_entropy_loss(net.forward(samples), labels).backward();
        ddp.synchronize();
        optimizer.step();
    }

    private static void sharedState(Communicator comm) {
        Nets.Mlp net = new Nets.Mlp();
        gpu.move(net);
        List<Tensor> before = net.parameterList().stream().map(Tensor::clone).toList();
        ZeroRedundancyOptimizer optimizer =
                ZeroRedundancyOptimizer.over(comm, net.parameters(), mine -> new SGD(mine, new SGDOptions(1)));
        Tensors.withoutGradient(
                () -> net.parameterList().forEach(one -> one.mutable_grad().put(torch.ones_like(one))));
        optimizer.step();
        List<Tensor> after = net.parameterList();
        for (int i = 0; i < after.size(); i++) {
            assertThat(after.get(i)
                            .add(new Scalar(1.0))
                            .sub(before.get(i))
                            .abs()
                            .max()
                            .item_float())
                    .isLessThan(1e-6F);
        }
    }

    private static void refusals(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        assertThatThrownBy(
                        () -> distributed.allGather(values(4, 0), torch.zeros(8).to(ScalarType.Double)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("one is memory of a device and one of the host");
        Nets.Mlp net = new Nets.Mlp();
        gpu.move(net);
        try (Communicator part = comm.split(0, comm.rank()).orElseThrow();
                DistributedDataParallel ddp = DistributedDataParallel.builder(part, net)
                        .commHook(CommHooks.wireFormat(WireFormat.BFLOAT16))
                        .build()) {
            comm.barrier().await(); // a rank that builds when another aborts fails in build()
            cross_entropy_loss(
                            net.forward(gpu.copy(net.samples(4, ScalarType.Float))),
                            gpu.copy(randint(10, new long[] {4}, new TensorOptions(ScalarType.Long))))
                    .backward();
            assertThatThrownBy(ddp::synchronize)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("operations on memory of GPUs are exact");
        }
    }
}
