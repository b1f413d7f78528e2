// The shared memory of this process, and its views of other processes' memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "base/fd.h"
#include "base/status.h"
#include "transport/adopted_memory.h"
#include "transport/shm_process.h"
#include "transport/shm_segment.h"

namespace jccl {

class ShmServer;
struct ShmOffer;

// Part of a segment that this process shares.
struct SharedRange {
  uint64_t segment = 0;
  size_t offset = 0;        // of the range in its segment
  size_t segmentBytes = 0;  // of the whole segment
};

// All segments that this process offers to others: communicators' segments and host buffers. There is one registry per
// process; it runs the server that sends descriptors, as long as it has users. Thread-safe.
class ShmRegistry {
 public:
  // The registry of this process, started by its first user and stopped when the last one releases it.
  static Status acquire(std::shared_ptr<ShmRegistry>* registry);
  ~ShmRegistry();

  const ShmProcess& process() const { return process_; }
  bool isThisProcess(const ShmProcess& peer) const { return peer.token == process_.token; }

  // Offers a segment; `id` is never used again in this process.
  uint64_t add(std::shared_ptr<ShmSegment> segment);
  // Offers ordinary memory that has the pages of a segment.
  uint64_t add(std::shared_ptr<AdoptedMemory> memory);
  // Whether any of [address, address + bytes) is in a segment or in adopted memory that is still in place.
  bool overlaps(const void* address, size_t bytes) const;
  // Offers memory that is not the host's, by its descriptor, which is closed when it is removed.
  uint64_t addDescriptor(UniqueFd fd);
  void remove(uint64_t id);

  std::shared_ptr<ShmSegment> segment(uint64_t id) const;
  // What is offered under a number: a segment or a descriptor.
  ShmOffer offer(uint64_t id) const;

  // Where [address, address + bytes) is, if it is inside one segment.
  bool find(const void* address, size_t bytes, SharedRange* range) const;

  // Takes the pages of [address, address + bytes) away from other processes that map them; see ShmSegment::isolate. The
  // segment is no longer found, so that its memory counts as ordinary; what others fetch by its number stays as it is.
  Status isolate(const void* address, size_t bytes);

  // The segment of another process (or of this one, without a second mapping). `expectedBytes` 0 takes any size;
  // `expectedHeader` is compared with the first bytes of the segment.
  Status import(const ShmProcess& peer, uint64_t id, size_t expectedBytes, std::span<const uint8_t> expectedHeader,
                std::shared_ptr<ShmSegment>* view) const;

 private:
  ShmRegistry() = default;
  // Where a segment's memory is in this process.
  struct Place {
    uint64_t id = 0;
    size_t bytes = 0;
    size_t offset = 0;                       // in the segment
    std::shared_ptr<AdoptedMemory> adopted;  // null: the segment's own addresses
  };
  using Places = std::map<uintptr_t, Place>;
  Places::const_iterator holder(uintptr_t address, size_t bytes) const;

  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<ShmSegment>> byId_;
  Places byAddress_;
  std::map<uint64_t, std::shared_ptr<const UniqueFd>> descriptors_;
  uint64_t nextId_ = 1;
  ShmProcess process_;
  std::unique_ptr<ShmServer> server_;
};

}  // namespace jccl
