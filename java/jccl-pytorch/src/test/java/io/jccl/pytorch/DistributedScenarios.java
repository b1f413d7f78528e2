package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.arange;
import static org.bytedeco.pytorch.global.torch.full;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.zeros;

import io.jccl.Communicator;
import io.jccl.ReduceOp;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.MemoryFormat;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Operations on tensors of two ranks. {@link DistributedTest} starts both. */
final class DistributedScenarios {

    private DistributedScenarios() {}

    public static void main(String[] args) {
        LibTorch.load();
        torch.set_num_threads(1);
        new Scenarios()
                .add("types", DistributedScenarios::types)
                .add("moved types", DistributedScenarios::movedTypes)
                .add("broadcast", DistributedScenarios::broadcast)
                .add("gather and scatter", DistributedScenarios::gatherAndScatter)
                .add("all to all", DistributedScenarios::allToAll)
                .add("point to point", DistributedScenarios::pointToPoint)
                .add("strides", DistributedScenarios::strides)
                .add("future", DistributedScenarios::future)
                .add("empty tensor", DistributedScenarios::emptyTensor)
                .add("leaf", DistributedScenarios::leaf)
                .add("unsuitable tensors", DistributedScenarios::unsuitableTensors)
                .run();
    }

    private static Tensor values(ScalarType type, double... values) {
        Tensor tensor = zeros(values.length).to(ScalarType.Double);
        for (int i = 0; i < values.length; i++) {
            tensor.select(0, i).fill_(new Scalar(values[i]));
        }
        return tensor.to(type);
    }

    private static void require(Tensor actual, double... expected) {
        Tensor flat = actual.detach().contiguous().flatten(0, -1).to(ScalarType.Double);
        assertThat(flat.numel()).isEqualTo(expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(flat.select(0, i).item_double()).as("element " + i).isEqualTo(expected[i]);
        }
    }

    private static void types(Communicator comm) {
        for (ScalarType type : List.of(
                ScalarType.Half,
                ScalarType.BFloat16,
                ScalarType.Float,
                ScalarType.Double,
                ScalarType.Byte,
                ScalarType.Char,
                ScalarType.Short,
                ScalarType.Int,
                ScalarType.Long)) {
            Tensor tensor = values(type, 1 + comm.rank(), 10, 20 * comm.rank());
            Distributed.over(comm).allReduce(tensor, ReduceOp.SUM).await();
            require(tensor, 3, 20, 20);
            Distributed.over(comm).allReduce(tensor, ReduceOp.MAX).await();
            require(tensor, 3, 20, 20);
        }
    }

    private static void movedTypes(Communicator comm) {
        Tensor tensor = values(ScalarType.Bool, comm.rank(), 1 - comm.rank(), 1);
        Distributed.over(comm).broadcast(tensor, 1).await();
        require(tensor, 1, 0, 1);
    }

    private static void broadcast(Communicator comm) {
        Tensor tensor = values(ScalarType.Float, comm.rank(), 5 + comm.rank());
        Distributed.over(comm).broadcast(tensor, 1).await();
        require(tensor, 1, 6);
    }

    private static void gatherAndScatter(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        Tensor gathered = zeros(2, 2);
        distributed
                .allGather(values(ScalarType.Float, comm.rank(), 10 + comm.rank()), gathered)
                .await();
        require(gathered, 0, 10, 1, 11);
        Tensor block = zeros(2);
        distributed.reduceScatter(gathered, block, ReduceOp.SUM).await();
        require(block, comm.rank() == 0 ? new double[] {0, 20} : new double[] {2, 22});
        distributed.barrier().await();
    }

    private static void allToAll(Communicator comm) {
        Tensor received = zeros(2).to(ScalarType.Long);
        Distributed.over(comm)
                .allToAll(values(ScalarType.Long, 10 * comm.rank(), 10 * comm.rank() + 1), received)
                .await();
        require(received, comm.rank(), 10 + comm.rank());
    }

    private static void pointToPoint(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        int peer = 1 - comm.rank();
        Tensor received = zeros(3);
        distributed
                .sendReceive(full(new long[] {3}, new Scalar(comm.rank() + 1f)), peer, received, peer)
                .await();
        require(received, peer + 1, peer + 1, peer + 1);
        if (comm.rank() == 0) {
            distributed.send(received, 1).await();
        } else {
            distributed.recv(received, 0).await();
            require(received, 2, 2, 2);
        }
    }

    /** Requires that elements are combined by their indices: rank 0 has a transposed tensor, rank 1 a contiguous one. */
    private static void strides(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        Tensor tensor = comm.rank() == 0
                ? arange(new Scalar(6f)).reshape(3, 2).t()
                : arange(new Scalar(6f)).reshape(3, 2).t().contiguous();
        TensorWork work = distributed.allReduce(tensor, ReduceOp.SUM);
        work.await();
        work.await();
        require(tensor, 0, 4, 8, 2, 6, 10);
        assertThat(tensor.is_contiguous()).isEqualTo(comm.rank() == 1);

        Tensor image = arange(new Scalar(24f)).reshape(1, 3, 2, 4);
        Tensor last = image.contiguous(MemoryFormat.ChannelsLast);
        distributed.allReduce(last, ReduceOp.SUM).await();
        assertThat(last.equal(image.mul(new Scalar(2f)))).isTrue();
        assertThat(last.is_contiguous(MemoryFormat.ChannelsLast)).isTrue();

        Tensor whole = zeros(4);
        distributed
                .broadcast(comm.rank() == 0 ? ones(2) : whole.slice(0, opt(0), opt(4), 2), 0)
                .await();
        require(whole, comm.rank() == 0 ? new double[] {0, 0, 0, 0} : new double[] {1, 0, 1, 0});
    }

    private static org.bytedeco.pytorch.LongOptional opt(long value) {
        return new org.bytedeco.pytorch.LongOptional(value);
    }

    private static void future(Communicator comm) throws Exception {
        Tensor tensor = full(new long[] {2, 3}, new Scalar(comm.rank() + 1f)).t();
        Distributed.over(comm).allReduce(tensor, ReduceOp.SUM).toFuture().get(60, TimeUnit.SECONDS);
        require(tensor, 3, 3, 3, 3, 3, 3);
    }

    private static void emptyTensor(Communicator comm) {
        Tensor tensor = zeros(0, 3);
        Distributed.over(comm).allReduce(tensor, ReduceOp.SUM).await();
        assertThat(tensor.numel()).isZero();
        Tensor scalar = torch.scalar_tensor(new Scalar(comm.rank() + 1f));
        Distributed.over(comm).allReduce(scalar, ReduceOp.SUM).await();
        assertThat(scalar.item_float()).isEqualTo(3);
    }

    /** Requires that parameters, which autograd protects from writes in place, can be broadcast. */
    private static void leaf(Communicator comm) {
        for (boolean transposed : new boolean[] {false, true}) {
            Tensor parameter = full(new long[] {2, 3}, new Scalar((float) comm.rank()));
            parameter = (transposed ? parameter.t() : parameter).set_requires_grad(true);
            Distributed.over(comm).broadcast(parameter, 1).await();
            require(parameter, 1, 1, 1, 1, 1, 1);
            assertThat(parameter.requires_grad()).isTrue();
        }
    }

    private static void unsuitableTensors(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        refused(() -> distributed.allReduce(null, ReduceOp.SUM), "tensor=null: expected a tensor with elements");
        refused(() -> distributed.allReduce(new Tensor(), ReduceOp.SUM), "tensor=undefined: expected");
        Tensor leaf = ones(2).set_requires_grad(true);
        refused(() -> distributed.allReduce(leaf.grad(), ReduceOp.SUM), "undefined before the first backward pass");
        refused(() -> distributed.allReduce(sparse(), ReduceOp.SUM), "tensor.layout=Sparse", "to_dense()");
        refused(
                () -> distributed.allReduce(zeros(2).to(ScalarType.Bool), ReduceOp.SUM),
                "tensor.scalar_type=Bool: expected Half",
                "ScalarType.Int");
        refused(
                () -> distributed.broadcast(zeros(new long[] {2}, new TensorOptions(ScalarType.ComplexFloat)), 0),
                "tensor.scalar_type=ComplexFloat: expected a real type",
                "view_as_real");
        refused(
                () -> distributed.broadcast(ones(1).expand(4), 0),
                "tensor: expected a tensor whose elements do not share memory",
                "clone()");
        refused(
                () -> distributed.allGather(ones(2), zeros(4).to(ScalarType.Double)),
                "output.scalar_type=Double: expected Float");
        refused(() -> distributed.allGather(ones(2), zeros(3)), "expected");
        refused(() -> distributed.broadcast(ones(2), 2), "root=2");
        refused(() -> Distributed.over(null), "comm=null");
        distributed.barrier().await(); // nothing was issued before
    }

    private static Tensor sparse() {
        EmbeddingOptions options = new EmbeddingOptions(10, 4);
        options.sparse().put(true);
        EmbeddingImpl embedding = new EmbeddingImpl(options);
        embedding.forward(torch.tensor(1L, 3L)).sum().backward();
        return new Tensor(embedding.weight().grad());
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... texts) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).satisfies(e -> assertThat(e.getMessage())
                .contains(texts));
    }
}
