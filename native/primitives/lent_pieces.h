// What a sender has lent to the network: pieces of user memory that are sent from where they lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "primitives/layout.h"

namespace jccl {

// Of the steps of one connection; used by its sender alone.
class LentPieces {
 public:
  void add(uint64_t step, const uint8_t* begin, size_t bytes) {
    pieces_[step % kSlots] = {begin, bytes, step + 1};
    end_ = step + 1;
  }

  // All has been sent when the head has come so far.
  uint64_t end() const { return end_; }

  // The same for the pieces that share a byte with this memory; 0: none does. `head` is the sender's last look at it.
  uint64_t endOver(const uint8_t* begin, size_t bytes, uint64_t head) const {
    uint64_t end = 0;
    for (const Piece& piece : pieces_) {
      const bool apart = piece.begin + piece.bytes <= begin || begin + bytes <= piece.begin;
      if (piece.end > head && piece.end > end && !apart) end = piece.end;
    }
    return end;
  }

 private:
  struct Piece {
    const uint8_t* begin = nullptr;
    size_t bytes = 0;
    uint64_t end = 0;  // its step + 1
  };
  std::array<Piece, kSlots> pieces_;
  uint64_t end_ = 0;
};

}  // namespace jccl
