package io.jccl.pytorch;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A tensor in an operation. A contiguous tensor is used in place. Any other is copied to contiguous memory, and results
 * are copied back.
 *
 * <p>Holds a reference of its own to the memory. So the caller may free its tensor while the operation runs.
 */
final class Operand {

    private final Tensor memory; // contiguous
    private final @Nullable Tensor
            target; // receives the results; null if memory is that of the argument, or is only read
    private final DataBuffer buffer;

    private Operand(Tensor tensor, DataType type, boolean written) {
        if (tensor.is_contiguous() && !tensor.is_neg()) {
            memory = Tensors.reference(tensor);
            target = null;
        } else {
            Tensor detached = Tensors.keep(tensor.detach());
            memory = Tensors.keep(torch.zeros(Tensors.sizes(tensor), new TensorOptions(tensor.scalar_type())));
            Tensors.inScope(() -> memory.copy_(detached));
            target = written ? detached : null;
        }
        buffer = Tensors.buffer(memory, type);
    }

    /** Returns a tensor that an operation moves and only reads. */
    static Operand moved(String name, Tensor tensor) {
        Tensors.requireDense(name, tensor);
        return new Operand(tensor, Tensors.movedType(name, tensor.scalar_type()), false);
    }

    /** Returns a tensor that an operation combines with those of other ranks and only reads. */
    static Operand combined(String name, Tensor tensor) {
        Tensors.requireDense(name, tensor);
        return new Operand(tensor, Tensors.arithmeticType(name, tensor.scalar_type()), false);
    }

    /** Returns a tensor into which an operation moves elements. */
    static Operand movedInto(String name, Tensor tensor) {
        requireWritable(name, tensor);
        return new Operand(tensor, Tensors.movedType(name, tensor.scalar_type()), true);
    }

    /** Returns a tensor that an operation combines with those of other ranks, and that receives results. */
    static Operand combinedInto(String name, Tensor tensor) {
        requireWritable(name, tensor);
        return new Operand(tensor, Tensors.arithmeticType(name, tensor.scalar_type()), true);
    }

    private static void requireWritable(String name, Tensor tensor) {
        Tensors.requireDense(name, tensor);
        if (Tensors.overlaps(tensor)) {
            throw new IllegalArgumentException(name
                    + ": expected a tensor whose elements do not share memory, because it receives results; pass the"
                    + " tensor before expand(), or a clone()");
        }
    }

    DataBuffer buffer() {
        return buffer;
    }

    /** Copies results to the caller's tensor, and gives up the references. The operation has succeeded. */
    void complete() {
        if (target != null) {
            Tensors.inScope(() -> target.copy_(memory));
            target.releaseReference();
        }
        memory.releaseReference();
    }
}
