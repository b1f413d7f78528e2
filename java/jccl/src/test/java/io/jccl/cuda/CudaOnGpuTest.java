package io.jccl.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.testing.RequiresGpu;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import jcuda.runtime.JCuda;
import jcuda.runtime.cudaError;
import jcuda.runtime.cudaMemcpyKind;
import jcuda.runtime.cudaStream_t;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests pointers and streams that CUDA itself has created. */
@SuppressWarnings("try") // a try statement opens a context only to make it current
@RequiresGpu
@Timeout(60)
class CudaOnGpuTest {

    private static final int COUNT = 1 << 20;

    /** A JCuda pointer to a given address, for reading the memory there. */
    private static final class At extends Pointer {
        At(long address) {
            super(address);
        }
    }

    /** The primary context of device 0, made current on the thread of the test. */
    private static final class Context implements AutoCloseable {

        private final CUdevice device = new CUdevice();

        Context() {
            CUcontext context = new CUcontext();
            driver(JCudaDriver.cuInit(0));
            driver(JCudaDriver.cuDeviceGet(device, 0));
            driver(JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
            driver(JCudaDriver.cuCtxSetCurrent(context));
        }

        @Override
        public void close() {
            driver(JCudaDriver.cuDevicePrimaryCtxRelease(device));
        }
    }

    @Test
    void buffersOfDriverAndRuntimeApiContainTheCopiedValues() {
        try (Context current = new Context()) {
            float[] values = new float[COUNT];
            for (int i = 0; i < COUNT; i++) {
                values[i] = i;
            }
            CUdeviceptr ofDriver = new CUdeviceptr();
            driver(JCudaDriver.cuMemAlloc(ofDriver, (long) COUNT * Float.BYTES));
            driver(JCudaDriver.cuMemcpyHtoD(ofDriver, Pointer.to(values), (long) COUNT * Float.BYTES));
            checkContent(Cuda.buffer(ofDriver, COUNT, DataType.FLOAT32), values);
            driver(JCudaDriver.cuMemFree(ofDriver));

            Pointer ofRuntime = new Pointer();
            runtime(JCuda.cudaMalloc(ofRuntime, (long) COUNT * Float.BYTES));
            runtime(JCuda.cudaMemcpy(
                    ofRuntime, Pointer.to(values), (long) COUNT * Float.BYTES, cudaMemcpyKind.cudaMemcpyHostToDevice));
            checkContent(Cuda.buffer(ofRuntime, COUNT, DataType.FLOAT32), values);
            runtime(JCuda.cudaFree(ofRuntime));
        }
    }

    @Test
    void offsetsAreAddedToTheAddress() {
        try (Context current = new Context()) {
            CUdeviceptr pointer = new CUdeviceptr();
            driver(JCudaDriver.cuMemAlloc(pointer, 1024));
            long address = Cuda.buffer(pointer, 1, DataType.INT8).address();
            assertThat(Cuda.buffer(pointer.withByteOffset(512), 128, DataType.FLOAT32)
                            .address())
                    .isEqualTo(address + 512);
            driver(JCudaDriver.cuMemFree(pointer));
        }
    }

    @Test
    void streamsKeepTheirHandles() {
        try (Context current = new Context()) {
            CUstream one = new CUstream();
            CUstream other = new CUstream();
            driver(JCudaDriver.cuStreamCreate(one, CUstream_flags.CU_STREAM_NON_BLOCKING));
            driver(JCudaDriver.cuStreamCreate(other, CUstream_flags.CU_STREAM_NON_BLOCKING));
            assertThat(Cuda.stream(one).handle())
                    .isNotZero()
                    .isNotEqualTo(Cuda.stream(other).handle())
                    .isEqualTo(Cuda.stream(new cudaStream_t(one)).handle());
            driver(JCudaDriver.cuStreamDestroy(one));
            driver(JCudaDriver.cuStreamDestroy(other));
        }
    }

    private static void checkContent(DataBuffer buffer, float[] expected) {
        assertThat(buffer.memory()).isEqualTo(DataBuffer.Memory.DEVICE);
        float[] read = new float[expected.length];
        runtime(JCuda.cudaMemcpy(
                Pointer.to(read), new At(buffer.address()), buffer.bytes(), cudaMemcpyKind.cudaMemcpyDeviceToHost));
        assertThat(read).isEqualTo(expected);
    }

    private static void driver(int result) {
        assertThat(CUresult.stringFor(result)).isEqualTo("CUDA_SUCCESS");
    }

    private static void runtime(int result) {
        assertThat(cudaError.stringFor(result)).isEqualTo("cudaSuccess");
    }
}
