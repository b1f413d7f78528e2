#include "cuda/kernels/registry.h"

#include <array>

#include "cuda/kernels/tables.h"

namespace jccl::device {
namespace {

constexpr int kInPlace = 3 * kElementClassCount;
constexpr int kExchange = kInPlace + kElementClassCount;

std::array<KernelEntry, kKernelCount> makeEntries() {
  std::array<KernelEntry, kKernelCount> entries{};
  const auto fill = [&](int first, const KernelTable& table, const char* family, Protocol protocol) {
    for (int i = 0; i < kElementClassCount; ++i) {
      entries[first + i] = {table.functions[i], family, protocol, static_cast<ElementClass>(i)};
    }
  };
  fill(static_cast<int>(Protocol::LL) * kElementClassCount, collectiveKernelsLL(), "collective", Protocol::LL);
  fill(static_cast<int>(Protocol::LL128) * kElementClassCount, collectiveKernelsLL128(), "collective", Protocol::LL128);
  fill(static_cast<int>(Protocol::Simple) * kElementClassCount, collectiveKernelsSimple(), "collective",
       Protocol::Simple);
  fill(kInPlace, inPlaceKernels(), "in_place", Protocol::Simple);
  entries[kExchange] = {exchangeKernelFunction(), "exchange", Protocol::Simple, ElementClass::Int8};
  return entries;
}

const std::array<KernelEntry, kKernelCount>& entries() {
  static const std::array<KernelEntry, kKernelCount> all = makeEntries();
  return all;
}

}  // namespace

const KernelEntry& collectiveKernel(Protocol protocol, Collective collective, DataType type) {
  return entries()[static_cast<int>(protocol) * kElementClassCount +
                   static_cast<int>(elementClassOf(collective, type))];
}

const KernelEntry& inPlaceKernel(Collective collective, DataType type) {
  return entries()[kInPlace + static_cast<int>(elementClassOf(collective, type))];
}

const KernelEntry& exchangeKernel() { return entries()[kExchange]; }

const KernelEntry& kernelAt(int index) { return entries()[index]; }

}  // namespace jccl::device
