// The library's kernels as functions for the emulator. The launch selects the protocol and the class of elements.
#pragma once

#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>

#include "cuda/kernels/launch.h"
#include "cuda/kernels/registry.h"

namespace jccl::test {

void collectiveKernel(const device::Launch& launch);
void inPlaceKernel(const device::InPlaceLaunch& launch);
void exchangeKernel(const device::ExchangeLaunch& launch);
void meetKernel(const device::MeetLaunch& launch);
void probeKernel(const device::ProbeLaunch& launch);

// A family of kernels that the emulated driver launches. Each family has an object of namespace scope.
class EmulatedFamily {
 public:
  // Returns the body of a kernel for a descriptor, of which it has a copy; null if the descriptor belongs to another
  // kernel of the family.
  using BodyOf = std::function<void()> (*)(const device::KernelEntry& entry, const void* descriptor);

  EmulatedFamily(const char* family, BodyOf bodyOf);
  // Returns null if no family has the name.
  static BodyOf find(std::string_view family);
};

// Does the work of a BodyOf for kernels whose argument is a Descriptor.
template <class Descriptor>
std::function<void()> bodyOf(const device::KernelEntry& entry, const void* descriptor,
                             void (*kernel)(const Descriptor&)) {
  Descriptor launch;
  std::memcpy(&launch, descriptor, sizeof launch);
  if constexpr (std::is_base_of_v<device::Work, Descriptor>) {
    if (device::elementClassOf(launch.code.collective, launch.code.type) != entry.element) return nullptr;
    if (launch.choice.protocol != entry.protocol) return nullptr;
  }
  return [launch, kernel] { kernel(launch); };
}

}  // namespace jccl::test
