// Views of peers' host buffers that one communicator keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "transport/shm_registry.h"

namespace jccl {

// Peers' segments are fetched when first requested and stay mapped; of more than `max`, the least recently used are
// unmapped. When another segment is fetched, those that their owners have freed are unmapped, except the last `inUse`
// that were requested. For one thread at a time.
class ShmViews {
 public:
  ShmViews(std::shared_ptr<ShmRegistry> registry, size_t max, size_t inUse)
      : registry_(std::move(registry)), max_(max), inUse_(inUse) {}

  // Bytes [offset, offset + bytes) of a segment of `peer`. The address is good until `inUse`, at most half of `max`,
  // others were requested.
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
  std::vector<View> views_;  // the latest used first, as far as the first few are concerned
};

}  // namespace jccl
