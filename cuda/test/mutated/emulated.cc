// Emulated collective kernels with mutations. They replace the weak definition in cuda/test/emulated_kernels.cc.
#include "cuda/test/emulated_collective.h"
#include "cuda/test/emulated_kernels.h"
#include "cuda/test/mutated/mutations.h"

namespace jccl::test {
namespace {

template <Protocol P>
void mutatedKernel(const device::Launch& launch) {
  const auto element = device::elementClassOf(launch.code.collective, launch.code.type);
  if (element != device::ElementClass::Int32) return collectiveKernelWith<P>(launch);
  collectiveKernelOf<P, device::Integer<uint32_t>, device::Mutations>(launch);
}

}  // namespace

void collectiveKernel(const device::Launch& launch) {
  switch (launch.choice.protocol) {
    case Protocol::LL:
      return mutatedKernel<Protocol::LL>(launch);
    case Protocol::LL128:
      return mutatedKernel<Protocol::LL128>(launch);
    case Protocol::Simple:
      return mutatedKernel<Protocol::Simple>(launch);
  }
}

}  // namespace jccl::test
