package io.jccl;

/**
 * The memory that one communicator holds in this process, in bytes. The system allocates memory when it is first used,
 * so these sizes grow.
 *
 * @param reservedBytes the address space of the segment that peers write to
 * @param residentBytes the part of that segment that memory backs now
 * @param networkBytes the buffers of network connections
 * @param stagingBytes the buffers through which heap arrays are staged; if the host executes operations on device
 *     memory, also the buffers through which that memory is staged
 */
public record MemoryUsage(long reservedBytes, long residentBytes, long networkBytes, long stagingBytes) {

    /** Returns the sum of the memory that is in use now. Reserved address space does not count. */
    public long totalBytes() {
        return residentBytes + networkBytes + stagingBytes;
    }
}
