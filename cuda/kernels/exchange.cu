#include "cuda/kernels/exchange_kernel.h"

extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)
    jccl_exchange(const __grid_constant__ jccl::device::ExchangeLaunch launch) {
  JCCL_SHARED(jccl::device::ExchangeKernel<>::Shared, shared);
  jccl::device::ExchangeKernel<>::run(launch, shared);
}
