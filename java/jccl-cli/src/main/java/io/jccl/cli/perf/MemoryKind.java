package io.jccl.cli.perf;

import java.util.Locale;

/** The kind of memory that holds the buffers under test. */
enum MemoryKind {
    /** Direct NIO buffers. */
    DIRECT,
    /** Java arrays, which the library stages. */
    HEAP,
    /** {@link io.jccl.HostBuffer}s, which the ranks of this host read in place. */
    SHARED,
    /** Direct NIO buffers that are registered, so that the ranks of this host read them in place. */
    REGISTERED,
    /** Memory of each rank's GPU. */
    DEVICE;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
