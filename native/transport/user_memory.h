// User memory of the operation in flight, for networks that can access only registered memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "transport/net.h"

namespace jccl {

// A connection registers memory at its first use, for the duration of the operation. A longer registration would refer
// to old pages once the application has freed the memory and mapped new pages at the same address. Memory that is kept
// stays registered for longer, because `hasItsPages` tells whether its pages are still the same. Used under the
// engine's lock.
class UserMemory {
 public:
  void add(const void* address, size_t bytes, NetAccess access, std::shared_ptr<NetMemory> memory);
  void clear() { ranges_.clear(); }

  // Keeps memory registered across operations, from the first use of each part until drop(), or until `hasItsPages`
  // returns false. `memory` must allow writing. Returns its number, never 0.
  uint64_t keep(const void* address, size_t bytes, std::unique_ptr<NetMemory> memory,
                std::function<bool()> hasItsPages);
  void drop(uint64_t number) { kept_.erase(number); }
  // Returns the kept memory that contains the whole range; null if there is none.
  std::shared_ptr<NetMemory> kept(const void* address, size_t bytes);

  // Returns true if the buffer is in memory that was added for this access.
  bool holds(const NetBuffer& buffer, NetAccess access) const { return find(buffer, access) != nullptr; }

  // Returns the registered memory that contains the buffer, if the connection can use it; null: the data must be
  // copied.
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
