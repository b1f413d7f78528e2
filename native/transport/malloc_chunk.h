// Finds the pages of an allocation whose pages contain no other allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace jccl {

// The whole pages that glibc maps for one large allocation: its header, the memory that it returned, and unused bytes
// of rounding. They contain no byte of another allocation, and free() unmaps them.
//
//     begin      begin + 16 or more                                begin + bytes
//     +----------+-----------------------------------------------+--------+
//     | header   | the allocation's memory                         | unused |
//     +----------+-----------------------------------------------+--------+
struct MallocChunk {
  uint8_t* begin = nullptr;
  size_t bytes = 0;

  // Finds the chunk whose memory is [address, address + bytes). Fails if there is no such chunk: the allocation shares
  // its pages with others, came from another allocator, is larger than `bytes`, or does not begin at `address`. Reads
  // memory only in the page of `address`.
  static Status of(const void* address, size_t bytes, MallocChunk& chunk);
};

}  // namespace jccl
