#include "transport/user_memory.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"

namespace jccl {

void UserMemory::add(const void* address, size_t bytes, NetAccess access, std::shared_ptr<NetMemory> memory) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  ranges_.push_back({begin, begin + bytes, access, std::move(memory)});
}

uint64_t UserMemory::keep(const void* address, size_t bytes, std::unique_ptr<NetMemory> memory,
                          std::function<bool()> hasItsPages) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  kept_.emplace(nextNumber_, Kept{begin, begin + bytes, std::move(memory), std::move(hasItsPages)});
  return nextNumber_++;
}

std::shared_ptr<NetMemory> UserMemory::kept(const void* address, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  for (auto one = kept_.begin(); one != kept_.end();) {
    const Kept& kept = one->second;
    const bool isInside = kept.begin <= begin && begin + bytes <= kept.end;
    if (isInside && kept.hasItsPages()) return kept.memory;
    one = isInside ? kept_.erase(one) : std::next(one);
  }
  return nullptr;
}

const UserMemory::Range* UserMemory::find(const NetBuffer& buffer, NetAccess access) const {
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address);
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    const bool allowed = access == NetAccess::Read || range.access == NetAccess::Write;
    return allowed && range.begin <= begin && begin + buffer.bytes <= range.end;
  });
  return found == ranges_.end() ? nullptr : &*found;
}

NetMemory* UserMemory::reach(NetConnection& connection, const NetBuffer& buffer, NetAccess access) {
  auto* range = const_cast<Range*>(find(buffer, access));
  if (range == nullptr || range->refused) return nullptr;
  Status reached = connection.reach(*range->memory);
  if (reached) return range->memory.get();
  range->refused = true;
  if (!warned_) logMessage(LogLevel::Warn, "net", "user memory is copied: " + reached.message());
  warned_ = true;
  return nullptr;
}

}  // namespace jccl
