// The user memory of the operation in flight, for networks that reach registered memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "transport/net.h"

namespace jccl {

// Registered by a connection when it first uses it, for as long as the operation lasts: a registration that outlived the
// operation would mean old pages once the application has freed memory and mapped new pages at the same place. Only of what
// is kept somebody knows whether its pages are the same. Used under the engine's lock.
class UserMemory {
 public:
  void add(const void* address, size_t bytes, NetAccess access, std::shared_ptr<NetMemory> memory);
  void clear() { ranges_.clear(); }

  // Keeps registered what operations add of this memory, until it is dropped, or found to have other pages. Others may write it.
  // Returns its number, never 0.
  uint64_t keep(const void* address, size_t bytes, std::unique_ptr<NetMemory> memory,
                std::function<bool()> hasItsPages);
  void drop(uint64_t number) { kept_.erase(number); }
  // The memory that is kept of all of this; null: none.
  std::shared_ptr<NetMemory> kept(const void* address, size_t bytes);

  // Whether the buffer is in memory that was added for this access.
  bool holds(const NetBuffer& buffer, NetAccess access) const { return find(buffer, access) != nullptr; }

  // The memory of the buffer, if there is some that the connection reaches; null: the data must be copied.
  NetMemory* reach(NetConnection& connection, const NetBuffer& buffer, NetAccess access);

 private:
  struct Range {
    uintptr_t begin;
    uintptr_t end;
    NetAccess access;
    std::shared_ptr<NetMemory> memory;
    bool refused = false;
  };
  struct Kept {
    uintptr_t begin;
    uintptr_t end;
    std::shared_ptr<NetMemory> memory;
    std::function<bool()> hasItsPages;
  };
  const Range* find(const NetBuffer& buffer, NetAccess access) const;

  std::vector<Range> ranges_;
  std::map<uint64_t, Kept> kept_;
  uint64_t nextNumber_ = 1;
  bool warned_ = false;
};

}  // namespace jccl
