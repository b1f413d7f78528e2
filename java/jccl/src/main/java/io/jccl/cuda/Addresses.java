package io.jccl.cuda;

import io.jccl.internal.Arguments;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;

/** The addresses behind JCuda's objects, which only their subclasses may read. */
final class Addresses {

    private Addresses() {}

    /** The same for so many elements: without any, a pointer that points nowhere will do, as cudaMalloc gives it for 0 bytes. */
    static long of(Pointer pointer, long count) {
        return count == 0 ? 0 : of(pointer);
    }

    /** The address of the memory that it points to, its offset included. */
    static long of(Pointer pointer) {
        return new Memory(Arguments.required("pointer", pointer, "one from cudaMalloc or cuMemAlloc")).address();
    }

    /** One method for each type: a call that widens one would load JCuda's classes with the caller's. */
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
