// Ordinary memory whose pages are those of a shared segment while it is registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "transport/malloc_chunk.h"
#include "transport/mapping_check.h"
#include "transport/shm_segment.h"

namespace jccl {

// The chunk of an allocation, with its bytes and at its addresses, and other pages: those of a segment, which peers map. The
// chunk lies in the segment so that both can have huge pages. The application must not write to it while it is adopted or given back: what it
// writes then may be lost.
//
//     segment    0                 offset()                         offset() + bytes()       its end
//                +-----------------+--------------------------------+------------------------+
//                | nothing         | the chunk                      | nothing, its live flag |
//                +-----------------+--------------------------------+------------------------+
class AdoptedMemory {
 public:
  // Only while nobody else uses the chunk; after a failure it has its own pages, and its bytes.
  static Status adopt(const MallocChunk& chunk, std::unique_ptr<AdoptedMemory>& memory);
  // Leaves the mapping as it is, which keeps its bytes.
  ~AdoptedMemory() = default;

  // Gives the chunk private pages with the same bytes, and takes the segment's pages back. `freed`: the chunk's owner has
  // freed it, and what is at its addresses now is left alone. After a failure everything is as before, except that some of the
  // pages may be private already.
  Status giveBack(bool& freed);

  // Whether the segment's pages are still at the chunk's addresses. They are not once its owner has freed it, or after
  // isolate.
  bool isInPlace() const { return !isolated_ && check_.isMapped(); }

  // As ShmSegment::isolate, by offset in the chunk.
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
