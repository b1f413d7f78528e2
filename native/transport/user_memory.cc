#include "transport/user_memory.h"

#include <algorithm>

#include "base/log.h"

namespace jccl {

void UserMemory::add(const void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory> memory) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  pieces_.push_back({begin, begin + bytes, access, std::move(memory)});
}

const UserMemory::Piece* UserMemory::find(const NetBuffer& buffer, NetAccess access) const {
  const auto begin = reinterpret_cast<uintptr_t>(buffer.address);
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    const bool allowed = access == NetAccess::Read || piece.access == NetAccess::Write;
    return allowed && piece.begin <= begin && begin + buffer.bytes <= piece.end;
  });
  return found == pieces_.end() ? nullptr : &*found;
}

NetMemory* UserMemory::reach(NetConnection& connection, const NetBuffer& buffer, NetAccess access) {
  auto* piece = const_cast<Piece*>(find(buffer, access));
  if (piece == nullptr || piece->refused) return nullptr;
  Status reached = connection.reach(*piece->memory);
  if (reached) return piece->memory.get();
  piece->refused = true;
  if (!warned_) logMessage(LogLevel::Warn, "net", "user memory is copied: " + reached.message());
  warned_ = true;
  return nullptr;
}

}  // namespace jccl
