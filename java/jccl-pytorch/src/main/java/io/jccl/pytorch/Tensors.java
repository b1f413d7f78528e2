package io.jccl.pytorch;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/** Converts between memory of tensors and memory of JCCL. */
final class Tensors {

    private Tensors() {}

    /**
     * Returns a reference of its own to a tensor. Tensors that the preset returns from {@code parameters().get(i)} or
     * {@code grad()} point into their owner and are invalid once the owner is freed. The reference survives the owner,
     * {@code deallocate()} of the argument, and the end of the {@code PointerScope} in which it is made; the garbage
     * collector frees it.
     */
    static Tensor reference(TensorBase tensor) {
        return keep(new Tensor(tensor));
    }

    /** Runs code that makes temporary tensors, and frees these at its end. */
    static void inScope(Runnable body) {
        PointerScope scope = new PointerScope();
        try {
            body.run();
        } finally {
            scope.close();
        }
    }

    /** {@link #inScope} while autograd is off for this thread. */
    static void withoutGradient(Runnable body) {
        inScope(() -> {
            NoGradGuard guard = new NoGradGuard();
            try {
                body.run();
            } finally {
                guard.close();
            }
        });
    }

    /** Returns the object, which the end of the current {@code PointerScope} no longer frees. */
    static <P extends Pointer> P keep(P object) {
        object.retainReference();
        return object;
    }

    /**
     * Returns the type of a tensor whose elements are combined.
     *
     * @throws IllegalArgumentException if JCCL has no arithmetic for the type
     */
    static DataType arithmeticType(String name, ScalarType type) {
        DataType known = known(type);
        if (known == null) {
            throw new IllegalArgumentException(
                    name + ".scalar_type=" + type.intern()
                            + ": expected Half, BFloat16, Float, Double, Byte, Char, Short, Int, Long, UInt16, UInt32,"
                            + " UInt64, Float8_e4m3fn or Float8_e5m2; convert the tensor, for example with tensor.to(ScalarType.Int)");
        }
        return known;
    }

    /**
     * Returns the type as which a tensor is moved: that of its elements, or bytes if JCCL has no such type.
     *
     * @throws IllegalArgumentException if the elements are complex or quantized
     */
    static DataType movedType(String name, ScalarType type) {
        DataType known = known(type);
        if (known != null) {
            return known;
        }
        return switch (type.intern()) {
            case Bool -> DataType.UINT8;
            default -> throw new IllegalArgumentException(name + ".scalar_type=" + type.intern()
                    + ": expected a real type that is not quantized; pass view_as_real(tensor) or tensor.dequantize()");
        };
    }

    private static @Nullable DataType known(ScalarType type) {
        return switch (type.intern()) {
            case Half -> DataType.FLOAT16;
            case BFloat16 -> DataType.BFLOAT16;
            case Float -> DataType.FLOAT32;
            case Double -> DataType.FLOAT64;
            case Byte -> DataType.UINT8;
            case Char -> DataType.INT8;
            case Short -> DataType.INT16;
            case UInt16 -> DataType.UINT16;
            case Int -> DataType.INT32;
            case Long -> DataType.INT64;
            case UInt32 -> DataType.UINT32;
            case UInt64 -> DataType.UINT64;
            case Float8_e4m3fn -> DataType.FLOAT8_E4M3;
            case Float8_e5m2 -> DataType.FLOAT8_E5M2;
            default -> null;
        };
    }

    /**
     * Requires a tensor with elements in memory of the host or of a GPU.
     *
     * @param name name of the argument, for the message
     * @throws IllegalArgumentException if the tensor is null, undefined, sparse, or elsewhere
     */
    static void requireDense(String name, @Nullable TensorBase tensor) {
        if (tensor == null || tensor.isNull() || !tensor.defined()) {
            throw new IllegalArgumentException(name + "=" + (tensor == null || tensor.isNull() ? "null" : "undefined")
                    + ": expected a tensor with elements; a gradient is undefined before the first backward pass");
        }
        if (tensor.layout().intern() != Layout.Strided) {
            throw new IllegalArgumentException(name + ".layout="
                    + tensor.layout().intern() + ": expected a dense tensor; convert it with tensor.to_dense()");
        }
        if (!tensor.is_cpu() && !GpuTensors.current().isOnGpu(tensor)) {
            throw new IllegalArgumentException(name + ".device="
                    + tensor.device().str().getString() + ": expected cpu or cuda; copy it with tensor.cpu()");
        }
    }

    /** Returns true if several indices lead to one element in memory, as after {@code expand}. */
    static boolean overlaps(TensorBase tensor) {
        for (long i = 0; i < tensor.dim(); i++) {
            if (tensor.stride(i) == 0 && tensor.size(i) > 1) {
                return true;
            }
        }
        return false;
    }

    static long[] sizes(TensorBase tensor) {
        long[] sizes = new long[Math.toIntExact(tensor.dim())];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = tensor.size(i);
        }
        return sizes;
    }

    static long[] strides(TensorBase tensor) {
        long[] strides = new long[Math.toIntExact(tensor.dim())];
        for (int i = 0; i < strides.length; i++) {
            strides[i] = tensor.stride(i);
        }
        return strides;
    }

    /** Returns the size of the elements in bytes. */
    static long bytes(TensorBase tensor) {
        return tensor.numel() * tensor.element_size();
    }

    /** Returns the elements of a contiguous tensor. When the operation over them has ended, gives up a reference to it. */
    static DataBuffer buffer(Tensor contiguous, DataType type) {
        long count = bytes(contiguous) / type.bytes();
        long address = count == 0 ? 0 : contiguous.data_ptr().address();
        return GpuTensors.current().isOnGpu(contiguous)
                ? DataBuffer.device(address, count, type, contiguous, contiguous::releaseReference)
                : DataBuffer.host(address, count, type, contiguous, contiguous::releaseReference);
    }

    /**
     * Returns a tensor over memory that the caller keeps alive, with the type and sizes of another. The strides are
     * those of the other tensor if its elements fill their memory without gaps, as those of a channels-last tensor do.
     */
    static Tensor over(long address, TensorBase like) {
        return over(address, like, new TensorOptions(like.scalar_type()));
    }

    /** Like {@link #over(long, TensorBase)}, with the type and the device of the options. */
    static Tensor over(long address, TensorBase like, TensorOptions options) {
        Pointer memory = new Address(address);
        return keep(
                like.is_non_overlapping_and_dense()
                        ? torch.from_blob(memory, sizes(like), strides(like), options)
                        : torch.from_blob(memory, sizes(like), options));
    }

    /** Returns a flat tensor over memory that the caller keeps alive. */
    static Tensor over(long address, long count, ScalarType type) {
        return keep(torch.from_blob(new Address(address), new long[] {count}, new TensorOptions(type)));
    }

    /** A pointer to memory that something else keeps alive. */
    private static final class Address extends Pointer {
        Address(long address) {
            super((Pointer) null);
            this.address = address;
        }
    }
}
