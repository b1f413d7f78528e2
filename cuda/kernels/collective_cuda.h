// The collective kernels of one protocol, one for each class of elements, named as in the registry.
#pragma once

#include "cuda/kernels/collective_kernel.h"
#include "cuda/kernels/element_of.h"

// clang-format off
#define JCCL_COLLECTIVE_KERNEL(protocolName, protocol, elementName, element)                                      \
  extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)                                 \
      jccl_collective_##protocolName##_##elementName(const __grid_constant__ jccl::device::Launch launch) {       \
    using Kernel = jccl::device::CollectiveKernel<                                                                \
        protocol, jccl::device::ElementOf<jccl::device::ElementClass::element>::Type>;                            \
    JCCL_SHARED(Kernel::Shared, shared);                                                                          \
    Kernel::run(launch, shared);                                                                                  \
  }

#define JCCL_COLLECTIVE_KERNELS(protocolName, protocol)                         \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, int8, Int8)                    \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, int16, Int16)                  \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, int32, Int32)                  \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, int64, Int64)                  \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, float16, Float16)              \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, bfloat16, Bfloat16)            \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, float32, Float32)              \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, float64, Float64)              \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, float8_e4m3, E4m3)             \
  JCCL_COLLECTIVE_KERNEL(protocolName, protocol, float8_e5m2, E5m2)
// clang-format on
