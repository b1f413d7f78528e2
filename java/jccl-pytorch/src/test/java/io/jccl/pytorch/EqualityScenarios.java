package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randint;

import io.jccl.Communicator;
import io.jccl.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Compares 40 steps on all ranks with 40 steps of one process with the samples of all ranks. {@link EqualityTest} starts
 * the ranks.
 *
 * <p>Each rank normalizes by the statistics of its own samples. So for the net with batch normalization, the one process
 * divides the batch into shards, one for each rank, and averages their losses. It keeps the running statistics of the
 * first shard, which are those of rank 0.
 */
final class EqualityScenarios {

    private static final int STEPS = 40;
    private static final int BATCH = 64;
    private static final String ZERO = "ZeRO";

    private EqualityScenarios() {}

    public static void main(String[] args) {
        LibTorch.load();
        torch.set_num_threads(1);
        Scenarios scenarios = new Scenarios();
        for (Nets.Kind kind : Nets.Kind.values()) {
            for (String optimizer : List.of("SGD", "Adam", ZERO)) {
                scenarios.add(kind + " " + optimizer + " Double", comm -> {
                    double difference = difference(comm, kind, optimizer, ScalarType.Double, true);
                    assertThat(difference).isLessThan(1e-12);
                });
                scenarios.add(kind + " " + optimizer + " Float", comm -> {
                    double difference = difference(comm, kind, optimizer, ScalarType.Float, true);
                    assertThat(difference).isLessThan(1e-5);
                });
            }
        }
        scenarios.add("control", comm -> {
            double difference = difference(comm, Nets.Kind.MLP, "SGD", ScalarType.Double, false);
            assertThat(difference).isGreaterThan(1e-3);
        });
        scenarios.add("shares", EqualityScenarios::shares).run();
    }

    static Optimizer optimizer(String name, Nets.Net net) {
        return optimizer(name, net, ScalarType.Double);
    }

    private static Optimizer optimizer(String name, Nets.Net net, ScalarType type) {
        TensorVector parameters = net.parameters();
        if (!name.equals("SGD")) {
            return adam(parameters, type);
        }
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        return new SGD(parameters, options);
    }

    /**
     * Returns Adam with an epsilon above the rounding errors of gradients. Some gradients are nothing else: the bias of the
     * keys has no influence on attention. Adam would divide such a gradient by its own size.
     */
    private static Adam adam(TensorVector parameters, ScalarType type) {
        AdamOptions options = new AdamOptions(1e-3);
        options.eps().put(type == ScalarType.Float ? 1e-6 : 1e-8);
        return new Adam(parameters, options);
    }

    /** Returns the distance of the ranks' parameters from those of one process, relative to the norm of the latter. */
    private static double difference(
            Communicator comm, Nets.Kind kind, String optimizerName, ScalarType type, boolean average) {
        manual_seed(7);
        Nets.Net alone = kind.create(type);
        manual_seed(7 + comm.rank()); // rank 0 decides
        Nets.Net net = kind.create(type);
        manual_seed(11);
        Tensor x = net.samples(STEPS * BATCH, type);
        Tensor y = randint(10, new long[] {STEPS * BATCH}, new TensorOptions(ScalarType.Long));
        Optimizer single = optimizer(optimizerName, alone, type);
        boolean zero = optimizerName.equals(ZERO);
        Optimizer together = zero ? null : optimizer(optimizerName, net, type);
        ZeroRedundancyOptimizer shared =
                zero ? ZeroRedundancyOptimizer.over(comm, net.parameters(), mine -> adam(mine, type)) : null;
        int share = BATCH / comm.size();
        int shards = kind == Nets.Kind.CNN ? comm.size() : 1;
        try (DistributedDataParallel ddp =
                DistributedDataParallel.builder(comm, net).bucketBytes(1 << 14).build()) {
            for (int step = 0; step < STEPS; step++) {
                PointerScope scope = new PointerScope();
                trainAlone(alone, single, x.narrow(0, step * BATCH, BATCH), y.narrow(0, step * BATCH, BATCH), shards);
                boolean undefined = step % 2 == 0; // gradients are new, or views of the buckets
                if (zero) {
                    shared.zero_grad(undefined);
                } else {
                    together.zero_grad(undefined);
                }
                long begin = (long) step * BATCH + (long) comm.rank() * share;
                Tensor loss = cross_entropy_loss(net.forward(x.narrow(0, begin, share)), y.narrow(0, begin, share));
                if (average) {
                    loss.backward();
                    ddp.synchronize();
                } else {
                    try (DistributedDataParallel.NoSync local = ddp.noSync()) {
                        assertThat(local).isNotNull();
                        loss.backward();
                    }
                }
                if (zero) {
                    shared.step();
                } else {
                    together.step();
                }
                scope.close();
            }
            if (average) {
                ddp.requireEqualParameters();
                assertThat(ddp.steps()).isEqualTo(STEPS);
                assertThat(spread(comm, net.parameterList())).isZero();
            }
        }
        List<Tensor> actual = new ArrayList<>(net.parameterList());
        List<Tensor> expected = new ArrayList<>(alone.parameterList());
        actual.addAll(net.bufferList());
        expected.addAll(alone.bufferList());
        return distance(actual, expected);
    }

    /** Requires that each parameter has one owner, and that ranks without parameters take part. */
    private static void shares(Communicator comm) {
        Nets.Mlp net = new Nets.Mlp();
        ZeroRedundancyOptimizer optimizer =
                ZeroRedundancyOptimizer.over(comm, net.parameters(), mine -> new SGD(mine, new SGDOptions(1)));
        assertThat(comm.allReduce(
                        optimizer.optimizer().param_groups().get(0).params().size(), ReduceOp.SUM))
                .isEqualTo(net.parameters().size());
        List<Tensor> sizes = List.of(torch.zeros(10), torch.zeros(70), torch.zeros(30), torch.zeros(50));
        assertThat(ZeroRedundancyOptimizer.owners(sizes, 2)).containsExactly(0, 0, 1, 1);

        Tensor only = torch.ones(3).set_requires_grad(true);
        ZeroRedundancyOptimizer single = ZeroRedundancyOptimizer.over(
                comm, new TensorVector(only, only), mine -> new SGD(mine, new SGDOptions(1)));
        only.sum().backward();
        single.step();
        assertThat(only.detach().abs().max().item_float()).isZero();
        assertThat(single.optimizer() == null).isEqualTo(comm.rank() > 0);
        assertThatThrownBy(() -> ZeroRedundancyOptimizer.over(comm, new TensorVector(), mine -> null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("parameters.size=0");
    }

    private static void trainAlone(Nets.Net net, Optimizer optimizer, Tensor x, Tensor y, int shards) {
        optimizer.zero_grad();
        long share = BATCH / shards;
        List<Tensor> statistics = List.of();
        for (int shard = 0; shard < shards; shard++) {
            Tensor loss = cross_entropy_loss(
                    net.forward(x.narrow(0, shard * share, share)), y.narrow(0, shard * share, share));
            loss.div(new Scalar((double) shards)).backward();
            if (shard == 0) {
                statistics = net.bufferList().stream().map(Tensor::clone).toList();
            }
        }
        List<Tensor> buffers = net.bufferList();
        for (int i = 0; i < buffers.size(); i++) {
            buffers.get(i).copy_(statistics.get(i));
        }
        optimizer.step();
    }

    static double distance(List<Tensor> actual, List<Tensor> expected) {
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < actual.size(); i++) {
            Tensor a = actual.get(i).detach().cpu().to(ScalarType.Double);
            Tensor b = expected.get(i).detach().cpu().to(ScalarType.Double);
            difference += a.sub(b).pow(new Scalar(2)).sum().item_double();
            norm += b.pow(new Scalar(2)).sum().item_double();
        }
        return Math.sqrt(difference / norm);
    }

    /** Returns the largest difference between two ranks. */
    static double spread(Communicator comm, List<Tensor> tensors) {
        double spread = 0;
        for (Tensor tensor : tensors) {
            Tensor low = tensor.detach().clone();
            Tensor high = tensor.detach().clone();
            Distributed.over(comm).allReduce(low, ReduceOp.MIN).await();
            Distributed.over(comm).allReduce(high, ReduceOp.MAX).await();
            spread += high.sub(low).abs().sum().item_double();
        }
        return spread;
    }
}
