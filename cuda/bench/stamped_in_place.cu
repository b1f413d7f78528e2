// The kernel of in_place.cu for float32, with stamps. The other kernels of that file exist so that they can be loaded.
#include "cuda/bench/no_kernels.h"
#include "cuda/bench/stamps.h"
#include "cuda/kernels/element_of.h"
#include "cuda/kernels/in_place_kernel.h"

extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)
    jccl_in_place_float32(const __grid_constant__ jccl::device::InPlaceLaunch launch) {
  using Kernel = jccl::device::InPlaceKernel<jccl::device::Float32, jccl::bench::Stamped>;
  JCCL_SHARED(Kernel::Shared, shared);
  Kernel::run(launch, shared);
}

JCCL_NO_OTHER_KERNELS(jccl_in_place, jccl::device::InPlaceLaunch)
