package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Registration;
import io.jccl.init.ConnectedDevice;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Symmetric memory of this rank's GPU, on which kernels execute operations.
 *
 * @param address address in this process
 */
record DeviceWindow(ConnectedDevice device, long address) implements SymmetricAllocation.Memory {

    @Override
    public DataBuffer slice(long offsetBytes, long count, DataType type) {
        return DataBuffer.device(address + offsetBytes, count, type);
    }

    /** Tells the engine the addresses of the windows of all ranks, unless the ranks cannot reach them. */
    @Override
    public void use(CommunicatorImpl communicator, Registration registration) {
        BufferRegistration.Opened opened = ((BufferRegistration) registration).opened();
        if (opened.number() != 0) {
            device.engine().registration().useWindow(address, opened.here(), opened.there());
        } else if (device.isInPlace()) {
            device.engine().registration().useWindow(address, addresses(communicator), new long[0]);
        }
    }

    private long[] addresses(CommunicatorImpl communicator) {
        List<byte[]> all = communicator.allGatherObject(
                ByteBuffer.allocate(Long.BYTES).putLong(address).array());
        return all.stream().mapToLong(one -> ByteBuffer.wrap(one).getLong()).toArray();
    }

    @Override
    public void free() {
        device.engine().registration().freeWindow(address);
    }
}
