package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The elements of a tensor in host memory: the tensor's own memory, or a copy that {@link #writeBack} returns to it.
 *
 * <p>The elements are a copy if the tensor does not store them one after the other, or if they are on a GPU. A view is
 * valid until the {@link NDScope} in which it was made ends.
 */
final class TensorView {

    private final NDArray tensor;
    private final ByteBuffer bytes;
    private final boolean isCopy;

    private TensorView(NDArray tensor, ByteBuffer bytes, boolean isCopy) {
        this.tensor = tensor;
        this.bytes = bytes;
        this.isCopy = isCopy;
    }

    /**
     * Views a tensor.
     *
     * @param name name of the tensor for messages
     * @throws IllegalArgumentException if the tensor is sparse, or too large for a {@code ByteBuffer}
     */
    static TensorView of(String name, NDArray tensor) {
        if (tensor.isSparse()) {
            throw new IllegalArgumentException(name + "=" + tensor.getSparseFormat()
                    + ": expected a dense tensor; build the block with dense gradients (optSparseFormat(DENSE))");
        }
        long size = tensor.size() * tensor.getDataType().getNumOfBytes();
        if (size > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    name + ".bytes=" + size + ": expected less than 2 GiB, which is what DJL shows"
                            + " of a tensor as a ByteBuffer; divide the parameter");
        }
        // The alias has the tensor's memory, and can be written even if the tensor requires a gradient.
        NDArray alias = tensor.stopGradient();
        ByteBuffer bytes = alias.toByteBuffer(true).order(ByteOrder.nativeOrder());
        return new TensorView(alias, bytes, alias.getDevice().isGpu() || !isSame(bytes, alias.toByteBuffer(true)));
    }

    /**
     * Returns true if two buffers of a tensor have the same address, which means that they are the tensor's own memory.
     * An engine that cannot return that memory makes a copy for each buffer, and two copies that exist together have
     * different addresses.
     */
    private static boolean isSame(ByteBuffer first, ByteBuffer second) {
        return first.isDirect()
                && second.isDirect()
                && DataBuffer.of(first).address() == DataBuffer.of(second).address();
    }

    /** Returns all elements in native byte order. Each call returns a buffer with its own position and limit. */
    ByteBuffer bytes() {
        return bytes.duplicate().order(ByteOrder.nativeOrder());
    }

    /** Returns true if {@link #bytes} is a copy. */
    boolean isCopy() {
        return isCopy;
    }

    /**
     * Returns the type of the elements for collectives.
     *
     * @throws IllegalArgumentException if collectives cannot average this type
     */
    DataType type() {
        return switch (tensor.getDataType()) {
            case FLOAT16 -> DataType.FLOAT16;
            case BFLOAT16 -> DataType.BFLOAT16;
            case FLOAT32 -> DataType.FLOAT32;
            case FLOAT64 -> DataType.FLOAT64;
            default -> throw new IllegalArgumentException("type=" + tensor.getDataType()
                    + ": expected float16, bfloat16, float32 or float64, which can be averaged");
        };
    }

    /** Copies the elements of {@link #bytes} back to the tensor, if they are a copy. */
    void writeBack() {
        if (isCopy) {
            // Neither NDArray.copyTo nor set(Buffer) can be used: with PyTorch they replace the tensor's memory.
            NDArray values = tensor.getManager().create(bytes(), tensor.getShape(), tensor.getDataType());
            tensor.set(new NDIndex("..."), values);
        }
    }
}
