// The kernels of CollNet for the emulated driver.
#include "cuda/collnet/coll_net_kernel.h"
#include "cuda/test/emulated_collective.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::test {
namespace {

void collNetKernel(const device::CollNetLaunch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type), [&]<class E>(E*) {
    using Kernel = device::CollNetKernel<E>;
    JCCL_SHARED(typename Kernel::Shared, shared);
    Kernel::run(launch, shared);
  });
}

const EmulatedFamily kCollNet("coll_net", [](const device::KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::CollNetLaunch>(entry, descriptor, collNetKernel);
});

}  // namespace
}  // namespace jccl::test
