package io.jccl.cli.perf;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.nativelib.NativeDevice;
import io.jccl.nativelib.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory of a GPU. Checks access it through copies, which are complete when a call returns. */
final class DeviceRegion implements Region {

    private static final int COPY_BYTES = 1 << 20;

    private final int device;
    private final long address;
    private final long stream;
    private ByteBuffer copy = ByteBuffer.allocateDirect(COPY_BYTES).order(ByteOrder.nativeOrder());

    DeviceRegion(int device, long bytes) {
        this.device = device;
        this.address = NativeDevice.allocateMemory(device, bytes);
        this.stream = NativeDevice.newStream(device);
    }

    @Override
    public DataBuffer elements(long offset, long count, DataType type) {
        return DataBuffer.device(address + offset * type.bytes(), count, type);
    }

    @Override
    public ByteBuffer read(long offsetBytes, int lengthBytes) {
        copy(lengthBytes, offsetBytes, false);
        return copy.slice(0, lengthBytes).order(ByteOrder.nativeOrder());
    }

    @Override
    public void write(long offsetBytes, ByteBuffer source) {
        int length = source.remaining();
        reserve(length).put(0, source, source.position(), length);
        copy(length, offsetBytes, true);
    }

    private ByteBuffer reserve(int bytes) {
        if (copy.capacity() < bytes) {
            copy = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        }
        return copy;
    }

    private void copy(int bytes, long offsetBytes, boolean in) {
        long here = NativeMemory.directAddress(reserve(bytes));
        long there = address + offsetBytes;
        NativeDevice.copyMemory(device, in ? there : here, in ? here : there, bytes, stream);
        NativeDevice.awaitStream(device, stream);
    }

    @Override
    public void close() {
        NativeDevice.closeStream(device, stream);
        NativeDevice.freeMemory(device, address);
    }
}
