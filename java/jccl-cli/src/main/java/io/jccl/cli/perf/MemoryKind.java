package io.jccl.cli.perf;

import java.util.Locale;

/** Where the buffers under test live. */
enum MemoryKind {
    /** Direct NIO buffers. */
    DIRECT,
    /** Java arrays, staged by the library. */
    HEAP,
    /** {@link io.jccl.HostBuffer}s, read in place by the ranks of this host. */
    SHARED,
    /** Direct NIO buffers that are registered, so that the ranks of this host read them in place. */
    REGISTERED,
    /** Memory of each rank's GPU. */
    DEVICE;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
