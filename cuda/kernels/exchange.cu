#include "cuda/kernels/exchange_kernel.h"
#include "cuda/kernels/registry.h"
#include "cuda/kernels/tables.h"

namespace jccl::device {
namespace {

__global__ void __launch_bounds__(kMaxBlockThreads, 1) exchange(const __grid_constant__ ExchangeLaunch launch) {
  JCCL_SHARED(ExchangeKernel<>::Shared, shared);
  ExchangeKernel<>::run(launch, shared);
}

}  // namespace

const void* exchangeKernelFunction() { return reinterpret_cast<const void*>(&exchange); }

}  // namespace jccl::device
