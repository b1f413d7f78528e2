// Ordinary memory whose pages are replaced by those of a shared segment while it is registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "transport/malloc_chunk.h"
#include "transport/mapping_check.h"
#include "transport/shm_segment.h"

namespace jccl {

// The chunk of an allocation. It keeps its bytes and addresses, but its pages are those of a segment, which peers map.
// Its offset in the segment is its offset in a huge page, so that both can have huge pages. The application must not
// write to the chunk during adopt() and giveBack(): such a write may be lost.
//
//     segment    0                 offset()                         offset() + bytes()       its end
//                +-----------------+--------------------------------+------------------------+
//                | nothing         | the chunk                      | nothing, its live flag |
//                +-----------------+--------------------------------+------------------------+
class AdoptedMemory {
 public:
  // Must be called while no other thread uses the chunk. After a failure the chunk has its own pages, with its bytes.
  static Status adopt(const MallocChunk& chunk, std::unique_ptr<AdoptedMemory>& memory);
  // Leaves the mapping as it is, so that the bytes remain.
  ~AdoptedMemory() = default;

  // Gives the chunk private pages with the same bytes, and takes the segment's pages back. Sets `freed` if the chunk's
  // owner has freed it; what is at its addresses now is left alone. After a failure everything is as before, except
  // that some pages may be private already.
  Status giveBack(bool& freed);

  // Returns true if the segment's pages are still at the chunk's addresses: its owner has not freed it, and isolate()
  // has not been called.
  bool isInPlace() const { return !isolated_ && check_.isMapped(); }

  // Like ShmSegment::isolate, with an offset in the chunk.
  Status isolate(size_t offset, size_t bytes);

  uint8_t* begin() const { return chunk_.begin; }
  size_t bytes() const { return chunk_.bytes; }
  size_t offset() const { return offset_; }
  const std::shared_ptr<ShmSegment>& segment() const { return segment_; }

 private:
  explicit AdoptedMemory(const MallocChunk& chunk) : chunk_(chunk) {}
  Status restore(size_t end) const;
  Status undo(size_t end, const Status& why) const;

  MallocChunk chunk_;
  size_t offset_ = 0;
  std::shared_ptr<ShmSegment> segment_;
  MappingCheck check_;
  bool isolated_ = false;
};

}  // namespace jccl
