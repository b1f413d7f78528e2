package io.jccl.pytorch;

import io.jccl.ReduceOp;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;

/**
 * The borders of a part of a net whose layers are divided among the ranks: all ranks enter it with the same tensor, and all
 * leave it with the sum of their results.
 */
final class ParallelRegion {

    private final Distributed distributed;
    private final TensorTensorHook sumOfGradients; // one for all forward passes; libtorch refers to it weakly

    ParallelRegion(Distributed distributed) {
        this.distributed = distributed;
        this.sumOfGradients = Tensors.keep(new TensorTensorHook() {
            @Override
            public TensorBase call(TensorBase gradient) {
                return sum(new Tensor(gradient));
            }
        });
    }

    /** Returns the tensor. In the backward pass, adds the gradients of all ranks, because each uses a part of the layer. */
    Tensor enter(Tensor x) {
        if (!x.requires_grad()) {
            return x;
        }
        Tensor entered = x.view_as(x);
        entered.register_hook(sumOfGradients);
        return entered;
    }

    /** Returns the sum over all ranks. In the backward pass, the gradient of the sum is that of each rank's tensor. */
    Tensor leave(Tensor part) {
        Tensor sum = part.clone();
        distributed.allReduce(sum.detach(), ReduceOp.SUM).await();
        return sum;
    }

    private Tensor sum(Tensor gradient) {
        Tensor sum = gradient.contiguous().clone();
        distributed.allReduce(sum, ReduceOp.SUM).await();
        return sum;
    }

    /** Returns this rank's part of rank 0's tensor along a dimension, as a tensor of its own. */
    Tensor part(String name, Tensor whole, long dimension) {
        int ranks = distributed.communicator().size();
        long size = whole.size(dimension);
        if (size % ranks != 0) {
            throw new IllegalArgumentException(name + "=" + size + " ranks=" + ranks
                    + ": expected a multiple of the number of ranks; choose another width, or fewer ranks");
        }
        long share = size / ranks;
        return same(whole)
                .narrow(dimension, distributed.communicator().rank() * share, share)
                .clone();
    }

    /** Returns a copy of rank 0's tensor. */
    Tensor same(Tensor whole) {
        Tensor copy = whole.detach().clone();
        distributed.broadcast(copy, 0).await();
        return copy;
    }

    /** Returns the weight of a layer, which has {@code out} rows of {@code in} elements. */
    static Tensor weight(LinearImpl whole) {
        if (whole == null || whole.isNull()) {
            throw new IllegalArgumentException("whole=null: expected the layer that is divided, the same on all ranks");
        }
        return whole.weight();
    }
}
