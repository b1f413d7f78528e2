// The kernel of collective_ll.cu for float32, with stamps. The other kernels of that file exist so that they can be
// loaded.
#include "cuda/bench/stamps.h"
#include "cuda/kernels/collective_kernel.h"
#include "cuda/kernels/element_of.h"

extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)
    jccl_collective_ll_float32(const __grid_constant__ jccl::device::Launch launch) {
  using Kernel = jccl::device::CollectiveKernel<jccl::Protocol::LL, jccl::device::Float32, jccl::bench::Stamped>;
  JCCL_SHARED(Kernel::Shared, shared);
  Kernel::run(launch, shared);
}

#define JCCL_NO_KERNEL(elementName)                                                                           \
  extern "C" __global__ void jccl_collective_ll_##elementName(const __grid_constant__ jccl::device::Launch) { \
    __trap();                                                                                                 \
  }

JCCL_NO_KERNEL(int8)
JCCL_NO_KERNEL(int32)
JCCL_NO_KERNEL(int64)
JCCL_NO_KERNEL(float16)
JCCL_NO_KERNEL(bfloat16)
JCCL_NO_KERNEL(float64)
JCCL_NO_KERNEL(float8_e4m3)
JCCL_NO_KERNEL(float8_e5m2)
