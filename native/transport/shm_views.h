// Mappings of peers' host buffers that one communicator keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "transport/shm_registry.h"

namespace jccl {

// Fetches a peer's segment when it is first requested, and keeps it mapped. If more than `max` segments are mapped,
// unmaps the least recently used one. Each fetch also unmaps the segments that their owners have freed, except the last
// `inUse` requested ones. For one thread at a time.
class ShmViews {
 public:
  ShmViews(std::shared_ptr<ShmRegistry> registry, size_t max, size_t inUse)
      : registry_(std::move(registry)), max_(max), inUse_(inUse) {}

  // Sets *address to the address of bytes [offset, offset + bytes) of a segment of `peer`. The address is valid until
  // `inUse` other segments are requested. `inUse` must be at most half of `max`.
  Status resolve(int peer, const ShmProcess& process, uint64_t segment, uint64_t offset, size_t bytes,
                 uint8_t** address);
  size_t size() const { return views_.size(); }

 private:
  struct View {
    int peer;
    uint64_t segment;
    std::shared_ptr<ShmSegment> memory;
    uint64_t lastUse = 0;
  };

  void dropFreed();

  std::shared_ptr<ShmRegistry> registry_;
  size_t max_;
  size_t inUse_;
  uint64_t uses_ = 0;
  std::vector<View> views_;  // most recently used first, except that the first few keep their order
};

}  // namespace jccl
