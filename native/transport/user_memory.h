// The user memory of the operation in flight, for networks that reach registered memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/net.h"

namespace jccl {

// Registered by a connection when it first uses it, for as long as the operation lasts: a registration that outlived the
// operation would mean old pages once the application has freed memory and mapped new pages at the same place. Used under
// the engine's lock.
class UserMemory {
 public:
  void add(const void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory> memory);
  void clear() { ranges_.clear(); }

  // Whether the buffer is in memory that was added for this access.
  bool holds(const NetBuffer& buffer, NetAccess access) const { return find(buffer, access) != nullptr; }

  // The memory of the buffer, if there is some that the connection reaches; null: the data must be copied.
  NetMemory* reach(NetConnection& connection, const NetBuffer& buffer, NetAccess access);

 private:
  struct Range {
    uintptr_t begin;
    uintptr_t end;
    NetAccess access;
    std::unique_ptr<NetMemory> memory;
    bool refused = false;
  };
  const Range* find(const NetBuffer& buffer, NetAccess access) const;

  std::vector<Range> ranges_;
  bool warned_ = false;
};

}  // namespace jccl
