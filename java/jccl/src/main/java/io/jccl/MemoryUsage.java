package io.jccl;

/**
 * The memory that one communicator holds in this process, in bytes. Memory is taken lazily, so the numbers grow with use.
 *
 * @param reservedBytes address space of the segment that peers write into
 * @param residentBytes how much of that segment is backed by memory now
 * @param networkBytes buffers of network connections
 * @param stagingBytes the areas through which heap arrays, and device memory where the host executes its operations, are
 *     staged
 */
public record MemoryUsage(long reservedBytes, long residentBytes, long networkBytes, long stagingBytes) {

    /** Everything that takes memory now. */
    public long totalBytes() {
        return residentBytes + networkBytes + stagingBytes;
    }
}
