#include "cuda/kernels/registry.h"

#include <utility>

namespace jccl::device {
namespace {

constexpr int kInPlace = 3 * kElementClassCount;
constexpr int kExchange = kInPlace + kElementClassCount;
constexpr int kProbe = kExchange + 1;
constexpr int kMeet = kProbe + 1;
constexpr int kOwn = kMeet + 1;

// Initialised before any object of namespace scope that adds kernels.
constinit const AddedKernels* lastAdded = nullptr;
constinit int count = kOwn;

KernelEntry entryOf(const char* family, ElementClass element, int capability = 0) {
  return {std::string("jccl_") + family + "_" + nameOf(element), family, family, Protocol::Simple, element, capability};
}

std::vector<KernelEntry> makeEntries() {
  std::vector<KernelEntry> entries(kOwn);
  for (int i = 0; i < kElementClassCount; ++i) {
    const auto element = static_cast<ElementClass>(i);
    for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
      const std::string image = std::string("collective_") + nameOf(protocol);
      entries[static_cast<int>(protocol) * kElementClassCount + i] = {"jccl_" + image + "_" + nameOf(element), image,
                                                                      "collective", protocol, element};
    }
    entries[kInPlace + i] = entryOf("in_place", element);
  }
  entries[kExchange] = {"jccl_exchange", "exchange", "exchange", Protocol::Simple, ElementClass::Int8};
  entries[kProbe] = {"jccl_probe", "probe", "probe", Protocol::Simple, ElementClass::Int8};
  entries[kMeet] = {"jccl_meet", "meet", "meet", Protocol::Simple, ElementClass::Int8};
  if (lastAdded != nullptr) lastAdded->append(entries);
  return entries;
}

// Never destroyed: threads may launch kernels until the process ends.
const std::vector<KernelEntry>& entries() {
  static const auto* all = new std::vector<KernelEntry>(makeEntries());
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

const KernelEntry& exchangeKernel() { return entries()[kExchange]; }

const KernelEntry& meetKernel() { return entries()[kMeet]; }

const KernelEntry& probeKernel() { return entries()[kProbe]; }

int kernelCount() { return static_cast<int>(entries().size()); }

const KernelEntry& kernelAt(int index) { return entries()[index]; }

int numberOf(const KernelEntry& kernel) { return static_cast<int>(&kernel - entries().data()); }

AddedKernels::AddedKernels(const char* family, int elements, int capability) noexcept
    : family_(family),
      elements_(elements),
      capability_(capability),
      before_(std::exchange(lastAdded, this)),
      begin_(std::exchange(count, count + elements)) {}

void AddedKernels::append(std::vector<KernelEntry>& entries) const {
  if (before_ != nullptr) before_->append(entries);
  for (int i = 0; i < elements_; ++i) entries.push_back(entryOf(family_, static_cast<ElementClass>(i), capability_));
}

}  // namespace jccl::device
