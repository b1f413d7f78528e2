// Describes user memory that replaces a slot, at both ends of a network connection.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "primitives/layout.h"

namespace jccl {

// Describes the user memory that replaces one slot at one end of a network connection. The description itself is in
// private memory of the process. The network may read the sender's `userData` at any time until the slot is freed. A
// receiver may post an address in user memory for the next payload of a free slot, valid for one step, check word and
// size. The payload arrives there or in the slot; the receiver's `userData` says which.
struct alignas(64) ZeroCopySlot {
  const uint8_t* userData = nullptr;  // both directions: address of the payload if it is not in the slot
  bool awaitsAddress = false;         // sending, with `userData`: the receiver is about to post an address
  uint8_t* postedAddress = nullptr;   // receiving: where the receiver expects the payload
  uint32_t postedBytes = 0;
  uint32_t postedCheck = 0;
  std::atomic<uint64_t> postedFor{0};  // step + 1, stored last; any other value: no address is posted
  // Sending: memory of the receiver that gets the payload instead of a slot, and the key of this memory. 0: the slot.
  uint64_t exposedAddress = 0;
  uint32_t exposedKey = 0;
};

// The user memory that the steps of one connection send without a copy. Only the connection's sender uses it.
class ZeroCopySends {
 public:
  void add(uint64_t step, const uint8_t* begin, size_t bytes) {
    chunks_[step % kSlots] = {begin, bytes, step + 1};
    end_ = step + 1;
  }

  // Returns the lowest value of the head that shows that everything has been sent.
  uint64_t end() const { return end_; }

  // Returns the lowest value of the head that shows that all chunks overlapping this memory have been sent; 0 if no
  // unsent chunk overlaps it. `head` is the value that the sender read last.
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
    uint64_t end = 0;  // the chunk's step + 1
  };
  std::array<Chunk, kSlots> chunks_;
  uint64_t end_ = 0;
};

}  // namespace jccl
