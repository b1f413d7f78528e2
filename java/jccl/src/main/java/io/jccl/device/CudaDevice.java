package io.jccl.device;

/**
 * A GPU that CUDA lets this process use. Its place in the host and its links are the topology's, under the same bus id.
 *
 * @param ordinal its number in this process, which {@code CUDA_VISIBLE_DEVICES} may change
 * @param name for example {@code NVIDIA H200}
 * @param sm compute capability times ten
 * @param memoryBytes all of its memory
 * @param busId as the kernel spells it, such as {@code 0000:07:00.0}
 * @param uuid such as {@code GPU-6d2a1f1e-3c52-0e9d-6a30-2f9bb2f0a5c4}; stays the same when numbers change
 */
public record CudaDevice(int ordinal, String name, int sm, long memoryBytes, String busId, String uuid) {}
