// Finds the pages of an allocation that has them for itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace jccl {

// What glibc maps for one large allocation, whole pages: its header, the memory that it returned, and what rounding added. No
// other allocation has a byte of it, and free() unmaps it.
//
//     begin      begin + 16 or more                                begin + bytes
//     +----------+-----------------------------------------------+--------+
//     | header   | the allocation's memory                         | unused |
//     +----------+-----------------------------------------------+--------+
struct MallocChunk {
  uint8_t* begin = nullptr;
  size_t bytes = 0;

  // The chunk whose memory is [address, address + bytes), or why there is none: the allocation shares its pages with others,
  // came from another allocator, or is larger or begins elsewhere. Reads the page of `address` only.
  static Status of(const void* address, size_t bytes, MallocChunk& chunk);
};

}  // namespace jccl
