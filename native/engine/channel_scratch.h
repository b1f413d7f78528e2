// The memory that a channel unpacks LL and LL128 in; for the files that have parts of Channel.
#pragma once

#include "engine/channel.h"

namespace jccl {

// Memory for the slices of `links` receive connections and one to send; grows only, and is made by the first operation
// that needs it.
template <Protocol P>
bool Channel::scratch(int links, const Transfer& transfer, uint8_t*& space) {
  if constexpr (P != Protocol::Simple) {
    const size_t slice = (transfer.sliceCount * transfer.elementBytes + 63) / 64 * 64;
    const size_t needed = slice * (links + 1);
    if (__builtin_expect(scratchMemory_.bytes() < needed, 0)) {
      if (!MappedMemory::mapAnonymous(needed, scratchMemory_)) {
        waiter_.control().fail(Code::NoMemory);
        return false;
      }
      scratchBytes_.store(scratchMemory_.bytes(), std::memory_order_relaxed);
    }
    space = scratchMemory_.base();
  }
  return true;
}

}  // namespace jccl
