package io.jccl.pytorch;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A tensor in an operation. A contiguous tensor is used in place. Any other is copied to contiguous memory, and results
 * are copied back.
 *
 * <p>Holds a reference of its own to the memory until the operation has ended. So the caller may free its tensor while
 * the operation runs.
 */
final class Operand {

    private final Tensor memory; // contiguous; freed at the end of the operation, or once the results are copied
    private final boolean isOnGpu;
    private @Nullable Tensor target; // receives the results; null after that, if memory is that of the argument or read
    private final DataBuffer buffer;

    private Operand(Tensor tensor, DataType type, boolean written) {
        if (tensor.is_contiguous() && !tensor.is_neg()) {
            memory = Tensors.reference(tensor);
            target = null;
        } else {
            Tensor detached = Tensors.keep(tensor.detach());
            memory = Tensors.keep(
                    torch.zeros(Tensors.sizes(tensor), GpuTensors.optionsOf(tensor.scalar_type(), tensor)));
            Tensors.inScope(() -> memory.copy_(detached));
            target = written ? detached : null;
        }
        if (target != null) {
            memory.retainReference(); // until the results are copied
        }
        isOnGpu = GpuTensors.current().isOnGpu(memory);
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

    /** Returns the elements, for one operation. At its end, with success or without, they are no longer kept alive. */
    DataBuffer buffer() {
        return buffer;
    }

    /** Called when the operation is issued. On a GPU, the stream copies results after the operation. */
    void issued() {
        if (isOnGpu) {
            copyBack();
        }
    }

    /** Called when the operation has succeeded. Copies results to the caller's tensor, unless that was done. */
    void complete() {
        copyBack();
    }

    private void copyBack() {
        Tensor receiver = target;
        if (receiver != null) {
            Tensors.inScope(() -> receiver.copy_(memory));
            target = null;
            receiver.releaseReference();
            memory.releaseReference();
        }
    }
}
