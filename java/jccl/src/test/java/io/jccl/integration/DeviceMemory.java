package io.jccl.integration;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceStream;
import io.jccl.nativelib.NativeDevice;
import io.jccl.nativelib.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory of a device with a stream for its copies, for tests; freed when it is closed. */
final class DeviceMemory implements AutoCloseable {

    private final int device;
    private final long address;
    private final long stream;
    private final ByteBuffer window;

    DeviceMemory(int device, int bytes) {
        this.device = device;
        this.address = NativeDevice.allocateMemory(device, bytes);
        this.stream = NativeDevice.newStream(device);
        this.window = ByteBuffer.allocateDirect(Math.max(1, bytes)).order(ByteOrder.nativeOrder());
    }

    DeviceStream stream() {
        return new DeviceStream(stream);
    }

    DataBuffer elements(long count, DataType type) {
        return DataBuffer.device(address, count, type);
    }

    /** Puts a copy of the bytes on the stream; they are there when the stream has come to it. */
    void put(byte[] bytes) {
        window.put(0, bytes);
        NativeDevice.copyMemory(device, address, NativeMemory.directAddress(window), bytes.length, stream);
    }

    /** The bytes, after all that was put on the stream. */
    byte[] get(int length) {
        NativeDevice.copyMemory(device, NativeMemory.directAddress(window), address, length, stream);
        NativeDevice.awaitStream(device, stream);
        byte[] bytes = new byte[length];
        window.get(0, bytes);
        return bytes;
    }

    @Override
    public void close() {
        NativeDevice.awaitStream(device, stream);
        NativeDevice.closeStream(device, stream);
        NativeDevice.freeMemory(device, address);
    }
}
