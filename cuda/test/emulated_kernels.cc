#include "cuda/test/emulated_kernels.h"

#include "cuda/kernels/coll_net_kernel.h"
#include "cuda/kernels/exchange_kernel.h"
#include "cuda/kernels/in_place_kernel.h"
#include "cuda/kernels/nvls_kernel.h"
#include "cuda/test/emulated_collective.h"

namespace jccl::test {

// A weak symbol, because the library of mutated kernels replaces this function (cuda/test/mutated/emulated.cc).
[[gnu::weak]] void collectiveKernel(const device::Launch& launch) {
  switch (launch.choice.protocol) {
    case Protocol::LL:
      return collectiveKernelWith<Protocol::LL>(launch);
    case Protocol::LL128:
      return collectiveKernelWith<Protocol::LL128>(launch);
    case Protocol::Simple:
      return collectiveKernelWith<Protocol::Simple>(launch);
  }
}

void inPlaceKernel(const device::InPlaceLaunch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type), [&]<class E>(E*) {
    using Kernel = device::InPlaceKernel<E>;
    JCCL_SHARED(typename Kernel::Shared, shared);
    Kernel::run(launch, shared);
  });
}

void collNetKernel(const device::Launch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type), [&]<class E>(E*) {
    using Kernel = device::CollNetKernel<E>;
    JCCL_SHARED(typename Kernel::Shared, shared);
    Kernel::run(launch, shared);
  });
}

void nvlsKernel(const device::NvlsLaunch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type), [&]<class E>(E*) {
    if constexpr (device::NvlsKernel<E>::kExists) {
      using Kernel = device::NvlsKernel<E>;
      JCCL_SHARED(typename Kernel::Shared, shared);
      Kernel::run(launch, shared);
    }
  });
}

void exchangeKernel(const device::ExchangeLaunch& launch) {
  JCCL_SHARED(device::ExchangeKernel<>::Shared, shared);
  device::ExchangeKernel<>::run(launch, shared);
}

}  // namespace jccl::test
