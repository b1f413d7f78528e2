package io.jccl.pytorch;

import static org.bytedeco.pytorch.global.torch.max_pool2d;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;
import static org.bytedeco.pytorch.global.torch.softmax;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Small classifiers of ten classes. */
final class Nets {

    private Nets() {}

    /** A module with its forward pass. */
    abstract static class Net extends Module {

        abstract Tensor forward(Tensor x);

        /** Returns random samples. */
        abstract Tensor samples(long count, ScalarType type);

        /** Returns references to the parameters, which stay valid. */
        final List<Tensor> parameterList() {
            return references(parameters());
        }

        final List<Tensor> bufferList() {
            return references(buffers());
        }

        private static List<Tensor> references(TensorVector tensors) {
            List<Tensor> all = new ArrayList<>();
            for (long i = 0; i < tensors.size(); i++) {
                all.add(new Tensor(tensors.get(i)));
            }
            return all;
        }
    }

    /** A perceptron with two hidden layers. */
    static final class Mlp extends Net {

        private static final long INPUTS = 20;

        final LinearImpl in = register_module("in", new LinearImpl(INPUTS, 32));
        final LinearImpl hidden = register_module("hidden", new LinearImpl(32, 32));
        final LinearImpl out = register_module("out", new LinearImpl(32, 10));

        @Override
        Tensor forward(Tensor x) {
            return out.forward(relu(hidden.forward(relu(in.forward(x)))));
        }

        @Override
        Tensor samples(long count, ScalarType type) {
            return randn(count, INPUTS).to(type);
        }
    }

    /** Two convolutions with batch normalization, and a linear layer. */
    static final class Cnn extends Net {

        final Conv2dImpl first =
                register_module("first", new Conv2dImpl(new Conv2dOptions(1, 4, new LongPointer(3, 3))));
        final BatchNorm2dImpl norm = register_module("norm", new BatchNorm2dImpl(new BatchNormOptions(4)));
        final Conv2dImpl second =
                register_module("second", new Conv2dImpl(new Conv2dOptions(4, 8, new LongPointer(3, 3))));
        final LinearImpl out = register_module("out", new LinearImpl(8 * 4 * 4, 10));

        @Override
        Tensor forward(Tensor x) {
            Tensor y = max_pool2d(relu(norm.forward(first.forward(x))), 2, 2);
            return out.forward(relu(second.forward(y)).flatten(1, -1));
        }

        @Override
        Tensor samples(long count, ScalarType type) {
            return randn(count, 1, 14, 14).to(type);
        }
    }

    /** A layer of a transformer with one head of attention, over eight tokens. */
    static final class Transformer extends Net {

        private static final long TOKENS = 8;
        private static final long WIDTH = 16;
        private static final long VOCABULARY = 50;

        final EmbeddingImpl embedding = register_module("embedding", new EmbeddingImpl(VOCABULARY, WIDTH));
        final LinearImpl query = register_module("query", new LinearImpl(WIDTH, WIDTH));
        final LinearImpl key = register_module("key", new LinearImpl(WIDTH, WIDTH));
        final LinearImpl value = register_module("value", new LinearImpl(WIDTH, WIDTH));
        final LinearImpl up = register_module("up", new LinearImpl(WIDTH, 4 * WIDTH));
        final LinearImpl down = register_module("down", new LinearImpl(4 * WIDTH, WIDTH));
        final LinearImpl out = register_module("out", new LinearImpl(WIDTH, 10));

        @Override
        Tensor forward(Tensor x) {
            Tensor tokens = embedding.forward(x);
            Tensor scores = query.forward(tokens)
                    .matmul(key.forward(tokens).transpose(1, 2))
                    .div(new Scalar(Math.sqrt(WIDTH)));
            Tensor attended = tokens.add(softmax(scores, -1).matmul(value.forward(tokens)));
            Tensor fed = attended.add(down.forward(relu(up.forward(attended))));
            return out.forward(fed.mean(1));
        }

        @Override
        Tensor samples(long count, ScalarType type) {
            return randint(VOCABULARY, new long[] {count, TOKENS}, new TensorOptions(ScalarType.Long));
        }
    }

    /** The kinds of nets. */
    enum Kind {
        MLP(Mlp::new),
        CNN(Cnn::new),
        TRANSFORMER(Transformer::new);

        private final Supplier<Net> constructor;

        Kind(Supplier<Net> constructor) {
            this.constructor = constructor;
        }

        Net create(ScalarType type) {
            Net net = constructor.get();
            net.to(type, false);
            return net;
        }
    }
}
