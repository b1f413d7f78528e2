#include "cuda/test/emulated_kernels.h"

#include <map>

#include "cuda/kernels/exchange_kernel.h"
#include "cuda/kernels/in_place_kernel.h"
#include "cuda/kernels/meet_kernel.h"
#include "cuda/kernels/probe_kernel.h"
#include "cuda/test/emulated_collective.h"

namespace jccl::test {
namespace {

using Families = std::map<std::string_view, EmulatedFamily::BodyOf>;
using device::KernelEntry;

Families& families() {
  static auto* all = new Families();
  return *all;
}

const EmulatedFamily kCollective("collective", [](const KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::Launch>(entry, descriptor, collectiveKernel);
});
const EmulatedFamily kInPlace("in_place", [](const KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::InPlaceLaunch>(entry, descriptor, inPlaceKernel);
});
const EmulatedFamily kExchange("exchange", [](const KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::ExchangeLaunch>(entry, descriptor, exchangeKernel);
});
const EmulatedFamily kMeet("meet", [](const KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::MeetLaunch>(entry, descriptor, meetKernel);
});
const EmulatedFamily kProbe("probe", [](const KernelEntry& entry, const void* descriptor) {
  return bodyOf<device::ProbeLaunch>(entry, descriptor, probeKernel);
});

}  // namespace

EmulatedFamily::EmulatedFamily(const char* family, BodyOf bodyOf) { families().emplace(family, bodyOf); }

EmulatedFamily::BodyOf EmulatedFamily::find(std::string_view family) {
  const auto found = families().find(family);
  return found == families().end() ? nullptr : found->second;
}

// Weak symbols, because the library of mutated kernels (cuda/test/mutated/emulated.cc) and the benchmark with stamped
// ones (cuda/bench) replace these functions.
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

[[gnu::weak]] void inPlaceKernel(const device::InPlaceLaunch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type), [&]<class E>(E*) {
    using Kernel = device::InPlaceKernel<E>;
    JCCL_SHARED(typename Kernel::Shared, shared);
    Kernel::run(launch, shared);
  });
}

void meetKernel(const device::MeetLaunch& launch) {
  JCCL_SHARED(device::MeetKernel::Shared, shared);
  device::MeetKernel::run(launch, shared);
}

void probeKernel(const device::ProbeLaunch& launch) { device::ProbeKernel::run(launch); }

void exchangeKernel(const device::ExchangeLaunch& launch) {
  JCCL_SHARED(device::ExchangeKernel<>::Shared, shared);
  device::ExchangeKernel<>::run(launch, shared);
}

}  // namespace jccl::test
