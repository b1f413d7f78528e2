package io.jccl.nativelib;

import io.jccl.TransportException;

/** A file descriptor that this process offers to processes of the same host and user, until this object is closed. */
public final class OfferedDescriptor implements AutoCloseable {

    private long handle;
    private final byte[] wire;

    private OfferedDescriptor(long handle) {
        this.handle = handle;
        this.wire = NativeDescriptors.wire(handle);
    }

    /**
     * Offers a descriptor.
     *
     * @param descriptor the descriptor, which is closed together with the offer, or at once on failure
     * @throws TransportException if this process cannot answer others
     */
    public static OfferedDescriptor of(int descriptor) {
        NativeLoader.load();
        long handle = NativeDescriptors.offer(descriptor);
        if (handle == 0) {
            throw new TransportException("descriptor=" + descriptor + ": " + NativeDescriptors.lastError());
        }
        return new OfferedDescriptor(handle);
    }

    /** Returns the bytes that other processes pass to {@link #fetch}. They contain a secret of this process. */
    public byte[] wire() {
        return wire.clone();
    }

    /**
     * Gets a descriptor that another process offers. Takes at most 5 seconds.
     *
     * @param wire the result of that process's {@link #wire}
     * @return a descriptor, which the caller closes
     * @throws TransportException if the descriptor cannot be had; the message has the reason
     */
    public static int fetch(byte[] wire) {
        NativeLoader.load();
        int descriptor = NativeDescriptors.fetch(wire);
        if (descriptor < 0) {
            throw new TransportException(NativeDescriptors.lastError());
        }
        return descriptor;
    }

    @Override
    public void close() {
        if (handle != 0) {
            NativeDescriptors.withdraw(handle);
            handle = 0;
        }
    }
}
