package io.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The elements of a tensor in memory of the host: the tensor's own memory, or a copy that {@link #writeBack} returns to
 * it.
 *
 * <p>It is a copy where the tensor's elements do not lie one after the other, or are on a GPU. Valid until the {@link
 * NDScope} ends in which it was made.
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
     * @param name of the tensor, for messages
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
        // The same memory, which may be written although the tensor requires a gradient.
        NDArray alias = tensor.stopGradient();
        ByteBuffer bytes = alias.toByteBuffer(true).order(ByteOrder.nativeOrder());
        return new TensorView(alias, bytes, alias.getDevice().isGpu() || !isSame(bytes, alias.toByteBuffer(true)));
    }

    /**
     * An engine copies where it cannot give the tensor's own memory; two copies that both exist differ in their
     * address.
     */
    private static boolean isSame(ByteBuffer first, ByteBuffer second) {
        return first.isDirect()
                && second.isDirect()
                && DataBuffer.of(first).address() == DataBuffer.of(second).address();
    }

    /** All elements, in native byte order. Position and limit are the caller's own. */
    ByteBuffer bytes() {
        return bytes.duplicate().order(ByteOrder.nativeOrder());
    }

    /** Whether {@link #bytes} is memory of its own. */
    boolean isCopy() {
        return isCopy;
    }

    /**
     * The type of the elements as collectives know it.
     *
     * @throws IllegalArgumentException if collectives cannot average it
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

    /** Gives the tensor the elements that {@link #bytes} has now. */
    void writeBack() {
        if (isCopy) {
            // Not NDArray.copyTo nor set(Buffer): with PyTorch they replace the tensor's memory.
            NDArray values = tensor.getManager().create(bytes(), tensor.getShape(), tensor.getDataType());
            tensor.set(new NDIndex("..."), values);
        }
    }
}
