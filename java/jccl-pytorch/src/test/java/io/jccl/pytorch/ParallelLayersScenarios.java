package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;
import static org.bytedeco.pytorch.global.torch.softmax;

import io.jccl.Communicator;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LinearOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A transformer whose heads of attention and whose hidden layer are divided between two ranks, and the same in one process.
 * {@link ParallelLayersTest} starts both ranks.
 */
final class ParallelLayersScenarios {

    private static final int STEPS = 30;
    private static final long BATCH = 16;
    private static final long TOKENS = 8;
    private static final long WIDTH = 16;
    private static final long HEADS = 2;
    private static final long VOCABULARY = 50;

    private ParallelLayersScenarios() {}

    public static void main(String[] args) {
        LibTorch.load();
        torch.set_num_threads(1);
        new Scenarios()
                .add("loss curve", comm -> lossCurve(comm, false))
                .add("loss curve after collections", comm -> lossCurve(comm, true))
                .add("gradients of the input", ParallelLayersScenarios::gradients)
                .add("width", ParallelLayersScenarios::width)
                .run();
    }

    /** One layer of a transformer over eight tokens. */
    private abstract static class Transformer extends Module {

        final EmbeddingImpl embedding = register_module("embedding", new EmbeddingImpl(VOCABULARY, WIDTH));
        final LinearImpl query = new LinearImpl(WIDTH, WIDTH);
        final LinearImpl key = new LinearImpl(WIDTH, WIDTH);
        final LinearImpl value = new LinearImpl(WIDTH, WIDTH);
        final LinearImpl join = new LinearImpl(WIDTH, WIDTH);
        final LinearImpl up = new LinearImpl(WIDTH, 4 * WIDTH);
        final LinearImpl down = new LinearImpl(4 * WIDTH, WIDTH);
        final LinearImpl out = register_module("out", new LinearImpl(WIDTH, 10));

        abstract Tensor attended(Tensor tokens);

        abstract Tensor fed(Tensor attended);

        final Tensor forward(Tensor x) {
            Tensor tokens = embedding.forward(x);
            Tensor attended = tokens.add(attended(tokens));
            return out.forward(attended.add(fed(attended)).mean(1));
        }

        /** Returns the attention of as many heads as the queries, keys and values have. */
        static Tensor heads(Tensor query, Tensor key, Tensor value, long heads) {
            Tensor scores = split(query, heads)
                    .matmul(split(key, heads).transpose(-2, -1))
                    .div(new Scalar(Math.sqrt((double) WIDTH / HEADS)));
            Tensor result = softmax(scores, -1).matmul(split(value, heads));
            return result.transpose(1, 2).reshape(BATCH, TOKENS, heads * WIDTH / HEADS);
        }

        private static Tensor split(Tensor x, long heads) {
            return x.reshape(BATCH, TOKENS, heads, WIDTH / HEADS).transpose(1, 2);
        }
    }

    private static final class Whole extends Transformer {

        Whole() {
            register_module("query", query);
            register_module("key", key);
            register_module("value", value);
            register_module("join", join);
            register_module("up", up);
            register_module("down", down);
        }

        @Override
        Tensor attended(Tensor tokens) {
            return join.forward(heads(query.forward(tokens), key.forward(tokens), value.forward(tokens), HEADS));
        }

        @Override
        Tensor fed(Tensor attended) {
            return down.forward(relu(up.forward(attended)));
        }
    }

    private static final class Divided extends Transformer {

        private final long heads;
        private final ColumnParallelLinear queries;
        private final ColumnParallelLinear keys;
        private final ColumnParallelLinear values;
        private final RowParallelLinear joined;
        private final ColumnParallelLinear wide;
        private final RowParallelLinear narrow;

        Divided(Distributed distributed) {
            heads = HEADS / distributed.communicator().size();
            queries = register_module("query", ColumnParallelLinear.of(distributed, query));
            keys = register_module("key", ColumnParallelLinear.of(distributed, key));
            values = register_module("value", ColumnParallelLinear.of(distributed, value));
            joined = register_module("join", RowParallelLinear.of(distributed, join));
            wide = register_module("up", ColumnParallelLinear.of(distributed, up));
            narrow = register_module("down", RowParallelLinear.of(distributed, down));
        }

        @Override
        Tensor attended(Tensor tokens) {
            return joined.forward(heads(queries.forward(tokens), keys.forward(tokens), values.forward(tokens), heads));
        }

        @Override
        Tensor fed(Tensor attended) {
            return narrow.forward(relu(wide.forward(attended)));
        }
    }

    private static List<Double> losses(Transformer net, boolean collect) {
        Adam optimizer = new Adam(net.parameters(), new AdamOptions(1e-2));
        manual_seed(11);
        Tensor x = torch.randint(VOCABULARY, new long[] {BATCH, TOKENS}).to(ScalarType.Long);
        Tensor y = torch.randint(10, new long[] {BATCH}).to(ScalarType.Long);
        List<Double> losses = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            PointerScope scope = new PointerScope();
            optimizer.zero_grad();
            Tensor loss = cross_entropy_loss(net.forward(x), y);
            if (collect) {
                System.gc(); // hooks must survive
            }
            loss.backward();
            optimizer.step();
            losses.add(loss.item_double());
            scope.close();
        }
        return losses;
    }

    private static void lossCurve(Communicator comm, boolean collect) {
        manual_seed(7);
        Whole whole = new Whole();
        manual_seed(7);
        Divided divided = new Divided(Distributed.over(comm));
        whole.to(ScalarType.Double, false);
        divided.to(ScalarType.Double, false);
        List<Double> expected = losses(whole, false);
        List<Double> actual = losses(divided, collect);
        assertThat(expected.get(STEPS - 1)).isLessThan(expected.get(0) / 2);
        for (int step = 0; step < STEPS; step++) {
            assertThat(actual.get(step) / expected.get(step) - 1)
                    .as("step " + step)
                    .isBetween(-1e-9, 1e-9);
        }
        List<Tensor> same = List.of(new Tensor(divided.embedding.weight()), new Tensor(divided.out.weight()));
        assertThat(EqualityScenarios.spread(comm, same)).isZero();
        System.out.println("losses " + actual.get(0) + " " + actual.get(STEPS - 1));
    }

    private static void gradients(Communicator comm) {
        Distributed distributed = Distributed.over(comm);
        manual_seed(7);
        LinearOptions withoutBias = new LinearOptions(6, 8);
        withoutBias.bias().put(false);
        LinearImpl up = new LinearImpl(withoutBias);
        LinearImpl down = new LinearImpl(8, 6);
        Tensor x = randn(5, 6).set_requires_grad(true);
        Tensor copy = x.detach().clone().set_requires_grad(true);
        down.forward(relu(up.forward(x))).pow(new Scalar(2)).sum().backward();
        ColumnParallelLinear wide = ColumnParallelLinear.of(distributed, up);
        RowParallelLinear narrow = RowParallelLinear.of(distributed, down);
        narrow.forward(relu(wide.forward(copy))).pow(new Scalar(2)).sum().backward();
        Tensor expected = new Tensor(x.grad());
        Tensor actual = new Tensor(copy.grad());
        assertThat(EqualityScenarios.distance(List.of(actual), List.of(expected)))
                .isLessThan(1e-6);
        assertThat(EqualityScenarios.spread(comm, List.of(actual))).isZero();
    }

    private static void width(Communicator comm) {
        assertThatThrownBy(() -> ColumnParallelLinear.of(Distributed.over(comm), new LinearImpl(4, 5)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("out=5 ranks=2: expected a multiple");
        assertThatThrownBy(() -> RowParallelLinear.of(Distributed.over(comm), new LinearImpl(5, 4)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("in=5 ranks=2: expected a multiple");
        assertThatThrownBy(() -> RowParallelLinear.of(Distributed.over(comm), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("whole=null");
    }
}
