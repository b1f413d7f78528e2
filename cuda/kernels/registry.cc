#include "cuda/kernels/registry.h"

#include <array>

namespace jccl::device {
namespace {

constexpr int kInPlace = 3 * kElementClassCount;
constexpr int kExchange = kInPlace + kElementClassCount;
constexpr int kCollNet = kExchange + 1;
constexpr int kNvls = kCollNet + kElementClassCount;

std::array<KernelEntry, kKernelCount> makeEntries() {
  std::array<KernelEntry, kKernelCount> entries{};
  for (int i = 0; i < kElementClassCount; ++i) {
    const auto element = static_cast<ElementClass>(i);
    for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
      const std::string image = std::string("collective_") + nameOf(protocol);
      entries[static_cast<int>(protocol) * kElementClassCount + i] = {"jccl_" + image + "_" + nameOf(element), image,
                                                                      "collective", protocol, element};
    }
    entries[kInPlace + i] = {std::string("jccl_in_place_") + nameOf(element), "in_place", "in_place", Protocol::Simple,
                             element};
    entries[kCollNet + i] = {std::string("jccl_coll_net_") + nameOf(element), "coll_net", "coll_net", Protocol::Simple,
                             element};
  }
  entries[kExchange] = {"jccl_exchange", "exchange", "exchange", Protocol::Simple, ElementClass::Int8};
  for (int i = 0; i < kNvlsKernelCount; ++i) {
    const auto element = static_cast<ElementClass>(i);
    entries[kNvls + i] = {std::string("jccl_nvls_") + nameOf(element), "nvls", "nvls", Protocol::Simple, element};
  }
  return entries;
}

// Never destroyed: threads may launch kernels until the process ends.
const std::array<KernelEntry, kKernelCount>& entries() {
  static const auto* all = new std::array<KernelEntry, kKernelCount>(makeEntries());
  return *all;
}

}  // namespace

const KernelEntry& collectiveKernel(Protocol protocol, Collective collective, DataType type) {
  return entries()[static_cast<int>(protocol) * kElementClassCount +
                   static_cast<int>(elementClassOf(collective, type))];
}

const KernelEntry& inPlaceKernel(Collective collective, DataType type) {
  return entries()[kInPlace + static_cast<int>(elementClassOf(collective, type))];
}

const KernelEntry& collNetKernel(Collective collective, DataType type) {
  return entries()[kCollNet + static_cast<int>(elementClassOf(collective, type))];
}

const KernelEntry& nvlsKernel(Collective collective, DataType type) {
  return entries()[kNvls + static_cast<int>(elementClassOf(collective, type))];
}

const KernelEntry& exchangeKernel() { return entries()[kExchange]; }

const KernelEntry& kernelAt(int index) { return entries()[index]; }

int numberOf(const KernelEntry& kernel) { return static_cast<int>(&kernel - entries().data()); }

}  // namespace jccl::device
