package io.jccl.cuda;

import io.jccl.internal.Arguments;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;

/** Reads the addresses of JCuda's objects, which are accessible only to their subclasses. */
final class Addresses {

    private Addresses() {}

    /**
     * Returns the address of the memory of {@code count} elements. Returns 0 for 0 elements, because the pointer that
     * cudaMalloc makes for 0 bytes points to no memory.
     */
    static long of(Pointer pointer, long count) {
        return count == 0 ? 0 : of(pointer);
    }

    /** Returns the address of the memory that a pointer points to, including the pointer's offset. */
    static long of(Pointer pointer) {
        return new Memory(Arguments.required("pointer", pointer, "one from cudaMalloc or cuMemAlloc")).address();
    }

    /**
     * Returns the address of a stream. Each type of stream has its own method, because converting to a common
     * superclass would load JCuda's classes together with the class of the caller.
     */
    static long of(cudaStream_t stream) {
        return new Handle(stream).address();
    }

    static long of(CUstream stream) {
        return new Handle(stream).address();
    }

    private static final class Memory extends Pointer {

        Memory(Pointer original) {
            super(original);
        }

        long address() {
            long base = getNativePointer();
            if (base == 0) {
                throw new IllegalArgumentException("pointer=" + this + ": points to no memory of a device; expected one"
                        + " from cudaMalloc or cuMemAlloc. Java memory goes into DataBuffer.of");
            }
            return base + getByteOffset();
        }
    }

    private static final class Handle extends NativePointerObject {

        Handle(NativePointerObject original) {
            super(original);
        }

        long address() {
            return getNativePointer();
        }
    }
}
