package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Registration;
import io.jccl.init.ConnectedDevice;
import io.jccl.parts.WindowSharing;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Supplier;

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
        boolean ofProcesses = opened.number() != 0;
        if (!ofProcesses && !device.isInPlace()) {
            return;
        }
        long[] here = ofProcesses ? opened.here() : addresses(communicator);
        communicator.whileNothingIsIssued(() -> {
            device.engine().registration().useWindow(address, here, opened.there());
            return null;
        });
        device.windowSharings().forEach(it -> it.share(address, ranks(communicator)));
    }

    private static WindowSharing.Ranks ranks(CommunicatorImpl communicator) {
        return new WindowSharing.Ranks() {
            @Override
            public List<byte[]> allGather(byte[] own) {
                return communicator.allGatherObject(own);
            }

            @Override
            public <T> T whileNothingIsIssued(Supplier<T> body) {
                return communicator.whileNothingIsIssued(body);
            }
        };
    }

    private long[] addresses(CommunicatorImpl communicator) {
        List<byte[]> all = communicator.allGatherObject(
                ByteBuffer.allocate(Long.BYTES).putLong(address).array());
        return all.stream().mapToLong(one -> ByteBuffer.wrap(one).getLong()).toArray();
    }

    @Override
    public void free() {
        device.windowSharings().forEach(it -> it.drop(address));
        device.engine().registration().freeWindow(address);
    }
}
