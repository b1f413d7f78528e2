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

// The chunk of an allocation. The chunk keeps its bytes and addresses, but its pages are those of a segment, which
// peers map. The chunk's offset in the segment equals its offset in a huge page, so that the mappings of both can use
// huge pages. The application must not write to the chunk during adopt() and giveBack(): such a write may be lost.
//
//     segment    0                 offset()                         offset() + bytes()       its end
//                +-----------------+--------------------------------+------------------------+
//                | nothing         | the chunk                      | nothing, its live flag |
//                +-----------------+--------------------------------+------------------------+
class AdoptedMemory {
 public:
  // Must be called while no other thread uses the chunk. After a failure the chunk has the same bytes, in private pages
  // unless the error says that undoing failed, too.
  static Status adopt(const MallocChunk& chunk, std::unique_ptr<AdoptedMemory>& memory);
  // Does not undo adopt(): the chunk keeps the segment's pages, so that its bytes remain.
  ~AdoptedMemory() = default;

  // Replaces the chunk's pages by private pages with the same bytes, and frees the segment's pages. If the application
  // has freed the chunk, sets `freed` and does not touch what is now at its addresses. After a failure everything is as
  // before, except that some pages may be private already.
  Status giveBack(bool& freed);

  // Returns true if the segment's pages are still at the chunk's addresses: the application has not freed the chunk,
  // and isolate() has not been called.
  bool isInPlace() const { return !isolated_ && check_.isMapped(); }

  // Like ShmSegment::isolate, but `offset` is relative to the chunk's begin.
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
