#include "cuda/runtime/symmetric_windows.h"

#include <iterator>
#include <utility>

namespace jccl::device {

void SymmetricWindows::add(std::shared_ptr<DeviceSegment> memory) {
  const uint8_t* address = memory->base();
  windows_[address].memory = std::move(memory);
}

Status SymmetricWindows::use(const uint8_t* memory, std::vector<uint64_t> here, std::vector<uint64_t> there) {
  const auto found = windows_.find(memory);
  if (found == windows_.end() || found->second.number != 0) {
    return Status::invalid(describe({memory, 0}) + ", expected memory of allocateWindow that is not used yet");
  }
  found->second.number = ++used_;
  found->second.here = std::move(here);
  found->second.there = std::move(there);
  return Status::ok();
}

std::shared_ptr<DeviceSegment> SymmetricWindows::remove(const uint8_t* memory) {
  auto found = windows_.extract(memory);
  return found.empty() ? nullptr : std::move(found.mapped().memory);
}

std::vector<std::shared_ptr<DeviceSegment>> SymmetricWindows::removeAll() {
  std::vector<std::shared_ptr<DeviceSegment>> all;
  for (auto& [address, window] : windows_) all.push_back(std::move(window.memory));
  windows_.clear();
  return all;
}

WindowPlace SymmetricWindows::find(const MemoryRange& range) const {
  const auto after = windows_.upper_bound(range.begin);
  if (after == windows_.begin()) return {};
  const auto& [address, window] = *std::prev(after);
  if (window.number == 0 || !MemoryRange{address, window.memory->bytes()}.covers(range)) return {};
  return {window.number, static_cast<uint64_t>(range.begin - address), &window.here, &window.there,
          window.memory->hasDescriptor()};
}

}  // namespace jccl::device
