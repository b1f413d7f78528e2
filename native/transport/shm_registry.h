// The shared memory that this process offers to others, and the memory of other processes that it maps.
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

// A range of bytes in a segment that this process shares with others.
struct SharedRange {
  uint64_t segment = 0;
  size_t offset = 0;        // position of the range in the segment
  size_t segmentBytes = 0;  // size of the whole segment
};

// All segments and descriptors that this process offers to others, such as segments of communicators and host buffers.
// A process has one registry. While the registry has users, it runs the server that sends descriptors. Thread-safe.
class ShmRegistry {
 public:
  // Returns the registry of this process. Its first user starts it; it stops when the last one releases it.
  static Status acquire(std::shared_ptr<ShmRegistry>* registry);
  ~ShmRegistry();

  const ShmProcess& process() const { return process_; }
  bool isThisProcess(const ShmProcess& peer) const { return peer.token == process_.token; }

  // Offers a segment. Returns its id, which is never used again in this process.
  uint64_t add(std::shared_ptr<ShmSegment> segment);
  // Offers ordinary memory that has adopted the pages of a segment. Returns its id.
  uint64_t add(std::shared_ptr<AdoptedMemory> memory);
  // Returns true if any part of [address, address + bytes) is in a segment, or in adopted memory that is still in
  // place.
  bool overlaps(const void* address, size_t bytes) const;
  // Offers memory other than the host's by its descriptor, which remove() closes. Returns its id.
  uint64_t addDescriptor(UniqueFd fd);
  void remove(uint64_t id);
  // Stops offering a segment to other processes, and closes its descriptor. Processes that have mapped it keep it.
  void withdraw(uint64_t id);

  std::shared_ptr<ShmSegment> segment(uint64_t id) const;
  // Returns what is offered under an id: a segment or a descriptor.
  ShmOffer offer(uint64_t id) const;

  // Finds the segment that contains all of [address, address + bytes). Returns false if there is none.
  bool find(const void* address, size_t bytes, SharedRange* range) const;

  // Takes the pages of [address, address + bytes) away from other processes that map them; see ShmSegment::isolate.
  // Afterwards find() treats this memory as ordinary. Other processes can still fetch the segment by its id, unchanged.
  Status isolate(const void* address, size_t bytes);

  // Maps a segment of another process, or returns one of this process without a second mapping. `expectedBytes` 0
  // accepts any size. The segment must begin with the bytes of `expectedHeader`.
  Status import(const ShmProcess& peer, uint64_t id, size_t expectedBytes, std::span<const uint8_t> expectedHeader,
                std::shared_ptr<ShmSegment>* view) const;

 private:
  ShmRegistry() = default;
  // The place of a segment's memory in this process.
  struct Place {
    uint64_t id = 0;
    size_t bytes = 0;
    size_t offset = 0;                       // position of the memory in the segment
    std::shared_ptr<AdoptedMemory> adopted;  // null: the memory is at the segment's own addresses
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
