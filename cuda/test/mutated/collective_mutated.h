// Defines the collective kernels of one protocol with mutations, under the names of the registry. Only the kernels of
// int32 work. The others exist so that they can be loaded; if one runs, its trap ends the context.
#pragma once

#include "cuda/kernels/collective_kernel.h"
#include "cuda/kernels/element_of.h"
#include "cuda/test/mutated/mutations.h"

// clang-format off
#define JCCL_NO_KERNEL(protocolName, elementName)                                                                \
  extern "C" __global__ void jccl_collective_##protocolName##_##elementName(                                     \
      const __grid_constant__ jccl::device::Launch) {                                                            \
    __trap();                                                                                                    \
  }

#define JCCL_MUTATED_KERNELS(protocolName, protocol)                                                             \
  extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)                                \
      jccl_collective_##protocolName##_int32(const __grid_constant__ jccl::device::Launch launch) {              \
    using Element = jccl::device::ElementOf<jccl::device::ElementClass::Int32>::Type;                            \
    using Kernel = jccl::device::CollectiveKernel<protocol, Element, jccl::device::Mutations>;                   \
    JCCL_SHARED(Kernel::Shared, shared);                                                                         \
    Kernel::run(launch, shared);                                                                                 \
  }                                                                                                              \
  JCCL_NO_KERNEL(protocolName, int8)                                                                             \
  JCCL_NO_KERNEL(protocolName, int64)                                                                            \
  JCCL_NO_KERNEL(protocolName, float16)                                                                          \
  JCCL_NO_KERNEL(protocolName, bfloat16)                                                                         \
  JCCL_NO_KERNEL(protocolName, float32)                                                                          \
  JCCL_NO_KERNEL(protocolName, float64)                                                                          \
  JCCL_NO_KERNEL(protocolName, float8_e4m3)                                                                      \
  JCCL_NO_KERNEL(protocolName, float8_e5m2)
// clang-format on
