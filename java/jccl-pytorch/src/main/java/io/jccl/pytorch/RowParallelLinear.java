package io.jccl.pytorch;

import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A linear layer whose inputs are divided among the ranks, as a {@link ColumnParallelLinear} returns them: each rank passes
 * {@code in / n} of them. All ranks get all outputs, the sums of what the ranks have computed.
 */
public final class RowParallelLinear extends Module {

    private final ParallelRegion region;
    private final Tensor weight;
    private final @Nullable Tensor bias; // the whole one, which is added once; null if the layer has none

    private RowParallelLinear(Distributed distributed, LinearImpl whole) {
        super("RowParallelLinear");
        this.region = new ParallelRegion(distributed);
        Tensor weights = ParallelRegion.weight(whole);
        this.weight = Tensors.reference(register_parameter("weight", region.part("in", weights, 1)));
        this.bias = whole.bias().defined()
                ? Tensors.reference(register_parameter("bias", region.same(whole.bias())))
                : null;
    }

    /**
     * Returns this rank's part of rank 0's layer. All ranks must call this.
     *
     * @param whole a layer of the same size on all ranks, whose inputs are a multiple of the number of ranks
     * @throws IllegalArgumentException if they are not
     */
    public static RowParallelLinear of(Distributed distributed, LinearImpl whole) {
        return new RowParallelLinear(distributed, whole);
    }

    /** Returns all outputs, with the same bits on all ranks. */
    public Tensor forward(Tensor x) {
        Tensor sum = region.leave(torch.linear(x, weight));
        return bias == null ? sum : sum.add(bias);
    }
}
