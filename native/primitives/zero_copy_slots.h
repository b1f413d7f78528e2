// How both ends of a network connection describe user memory that takes the place of a slot.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "primitives/layout.h"

namespace jccl {

// One for each slot of an end behind a network, in private memory of the process. The sender's `userData` is sent until the
// slot is freed. A receiver may post an address in user memory for the next payload of a free slot, good for one step, one
// check and size: the payload comes there or into the slot, and the receiver's `userData` says which.
struct alignas(64) ZeroCopySlot {
  const uint8_t* userData = nullptr;  // to and from a network: where the payload is, if not in the slot
  bool awaitsAddress = false;         // to a network, with `userData`: the receiver is about to post an address
  uint8_t* postedAddress = nullptr;   // from a network: where the receiver expects the payload
  uint32_t postedBytes = 0;
  uint32_t postedCheck = 0;
  std::atomic<uint64_t> postedFor{0};  // step + 1, stored last; another value: no address is posted
};

// The user memory that the steps of one connection send without a copy; used by the connection's sender alone.
class ZeroCopySends {
 public:
  void add(uint64_t step, const uint8_t* begin, size_t bytes) {
    chunks_[step % kSlots] = {begin, bytes, step + 1};
    end_ = step + 1;
  }

  // All has been sent when the head has come so far.
  uint64_t end() const { return end_; }

  // The same for the chunks that share a byte with this memory; 0: none does. `head` is the one that the sender read last.
  uint64_t endOver(const uint8_t* begin, size_t bytes, uint64_t head) const {
    uint64_t end = 0;
    for (const Chunk& chunk : chunks_) {
      const bool apart = chunk.begin + chunk.bytes <= begin || begin + bytes <= chunk.begin;
      if (chunk.end > head && chunk.end > end && !apart) end = chunk.end;
    }
    return end;
  }

 private:
  struct Chunk {
    const uint8_t* begin = nullptr;
    size_t bytes = 0;
    uint64_t end = 0;  // its step + 1
  };
  std::array<Chunk, kSlots> chunks_;
  uint64_t end_ = 0;
};

}  // namespace jccl
