package io.jccl.nativelib;

import io.jccl.TransportException;

/** A file descriptor of this process that others of its host and user may have, until it is closed. */
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
     * @param descriptor is closed with the offer, or at once on failure
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

    /** What others pass to {@link #fetch}. It holds a secret of this process. */
    public byte[] wire() {
        return wire.clone();
    }

    /**
     * A descriptor of what another process offers. Takes 5 seconds at most.
     *
     * @param wire what that process's {@link #wire} said
     * @return a descriptor that the caller closes
     * @throws TransportException if it cannot be had; says why
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
