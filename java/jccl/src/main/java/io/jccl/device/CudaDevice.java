package io.jccl.device;

/**
 * A GPU that this process can use through CUDA. The topology describes its place in the host and its links, under the
 * same bus id.
 *
 * @param ordinal the number of the GPU in this process, which depends on {@code CUDA_VISIBLE_DEVICES}
 * @param name for example {@code NVIDIA H200}
 * @param sm compute capability times ten
 * @param memoryBytes the size of its whole memory
 * @param busId the bus id as the kernel spells it, such as {@code 0000:07:00.0}
 * @param uuid such as {@code GPU-6d2a1f1e-3c52-0e9d-6a30-2f9bb2f0a5c4}; does not change when numbers change
 */
public record CudaDevice(int ordinal, String name, int sm, long memoryBytes, String busId, String uuid) {}
