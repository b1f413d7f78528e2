// The kernel of collective_ll.cu for float32, with stamps. The other kernels of that file exist so that they can be
// loaded.
#include "cuda/bench/no_kernels.h"
#include "cuda/bench/stamps.h"
#include "cuda/kernels/collective_kernel.h"
#include "cuda/kernels/element_of.h"

extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)
    jccl_collective_ll_float32(const __grid_constant__ jccl::device::Launch launch) {
  using Kernel = jccl::device::CollectiveKernel<jccl::Protocol::LL, jccl::device::Float32, jccl::bench::Stamped>;
  JCCL_SHARED(Kernel::Shared, shared);
  Kernel::run(launch, shared);
}

JCCL_NO_OTHER_KERNELS(jccl_collective_ll, jccl::device::Launch)
