package io.jccl.pytorch;

import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A linear layer whose outputs are divided among the ranks: each computes {@code out / n} of them. All ranks pass the same
 * input, and their gradients of it are added. A {@link RowParallelLinear} usually follows, which takes these outputs.
 *
 * <pre>{@code
 * ColumnParallelLinear up = register_module("up", ColumnParallelLinear.of(distributed, new LinearImpl(16, 64)));
 * RowParallelLinear down = register_module("down", RowParallelLinear.of(distributed, new LinearImpl(64, 16)));
 * Tensor y = down.forward(torch.relu(up.forward(x)));
 * }</pre>
 *
 * <p>All ranks run the same forward and backward passes, one after the other. If a rank fails in a backward pass, {@code
 * backward()} throws an exception with only the text of the cause, which {@code Communicator.failure()} returns.
 */
public final class ColumnParallelLinear extends Module {

    private final ParallelRegion region;
    private final Tensor weight;
    private final @Nullable Tensor bias; // null if the layer has none

    private ColumnParallelLinear(Distributed distributed, LinearImpl whole) {
        super("ColumnParallelLinear");
        this.region = new ParallelRegion(distributed);
        Tensor weights = ParallelRegion.weight(whole);
        this.weight = Tensors.reference(register_parameter("weight", region.part("out", weights, 0)));
        this.bias = whole.bias().defined()
                ? Tensors.reference(register_parameter("bias", region.part("out", whole.bias(), 0)))
                : null;
    }

    /**
     * Returns this rank's part of rank 0's layer. All ranks must call this.
     *
     * @param whole a layer of the same size on all ranks, whose outputs are a multiple of the number of ranks
     * @throws IllegalArgumentException if they are not
     */
    public static ColumnParallelLinear of(Distributed distributed, LinearImpl whole) {
        return new ColumnParallelLinear(distributed, whole);
    }

    /** Returns this rank's outputs. */
    public Tensor forward(Tensor x) {
        Tensor entered = region.enter(x);
        return bias == null ? torch.linear(entered, weight) : torch.linear(entered, weight, bias);
    }
}
