// The kernels of NVLS for the emulated driver.
#include "cuda/nvls/nvls_kernel.h"
#include "cuda/test/emulated_collective.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::test {
namespace {

void nvlsKernel(const device::NvlsLaunch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type), [&]<class E>(E*) {
    if constexpr (device::NvlsKernel<E>::kExists) {
      using Kernel = device::NvlsKernel<E>;
      JCCL_SHARED(typename Kernel::Shared, shared);
      Kernel::run(launch, shared);
    }
  });
}

const EmulatedFamily kNvls("nvls", [](const device::KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::NvlsLaunch>(entry, descriptor, nvlsKernel);
});

}  // namespace
}  // namespace jccl::test
