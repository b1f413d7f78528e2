// Accesses buffers and slots that other ranks use, at addresses that are not multiples of 8.
#pragma once

#include <cstdint>

#include "cuda/device/memory.h"
#include "cuda/primitives/compiler.h"

namespace jccl::device {

// Sixteen bytes at any address, accessed in aligned words of 4 bytes. The bytes at both ends together make one more
// word:
//
//     | . a b c | 4 bytes | 4 bytes | 4 bytes | d . . . |      and d a b c
class Skew {
 public:
  JCCL_DEVICE explicit Skew(uintptr_t address) : bytes_(address % 4) {}

  // The parts of a load, kept apart so that several loads are in flight before the first is joined.
  struct Loaded {
    uint32_t ends[4];
    uint32_t words[3];
  };
  JCCL_DEVICE Loaded load(const uint8_t* from) const {
    Loaded loaded{};
    if (bytes_ == 0) {
      loaded.ends[0] = simt::loadPeer<4>(from);
    } else {
      JCCL_UNROLL
      for (unsigned i = 0; i < 4; ++i) loaded.ends[i] = simt::loadPeer<1>(from + placeOf(i));
    }
    JCCL_UNROLL
    for (unsigned i = 0; i < 3; ++i) loaded.words[i] = simt::loadPeer<4>(from + 4 * (i + 1) - bytes_);
    return loaded;
  }
  JCCL_DEVICE simt::Vec16 joined(const Loaded& loaded) const {
    uint32_t ends = 0;
    JCCL_UNROLL
    for (unsigned i = 0; i < 4; ++i) ends |= loaded.ends[i] << 8 * ((i + bytes_) % 4);
    const uint32_t words[5] = {ends, loaded.words[0], loaded.words[1], loaded.words[2], ends};
    uint32_t at[4];
    JCCL_UNROLL
    for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<uint32_t>(both(words[i], words[i + 1]) >> 8 * bytes_);
    return {both(at[0], at[1]), both(at[2], at[3])};
  }

  JCCL_DEVICE void store(uint8_t* to, simt::Vec16 value) const {
    const uint32_t words[4] = {static_cast<uint32_t>(value.low), static_cast<uint32_t>(value.low >> 32),
                               static_cast<uint32_t>(value.high), static_cast<uint32_t>(value.high >> 32)};
    if (bytes_ == 0) {
      simt::storePeer<4>(to, words[0]);
    } else {
      JCCL_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        simt::storePeer<1>(to + placeOf(i), static_cast<uint8_t>((isFirst(i) ? words[0] : words[3]) >> 8 * i));
      }
    }
    JCCL_UNROLL
    for (unsigned i = 1; i < 4; ++i) {
      simt::storePeer<4>(to + 4 * i - bytes_, static_cast<uint32_t>(both(words[i - 1], words[i]) >> (32 - 8 * bytes_)));
    }
  }

 private:
  // The word that is split has bytes at both ends of the sixteen. isFirst() returns true if byte i of this word is at
  // the first end, and placeOf() returns the offset of byte i in the sixteen bytes.
  JCCL_DEVICE bool isFirst(unsigned i) const { return i + bytes_ < 4; }
  JCCL_DEVICE unsigned placeOf(unsigned i) const { return isFirst(i) ? i : 12 + i; }
  JCCL_DEVICE static uint64_t both(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

  const unsigned bytes_;  // from the last multiple of 4
};

}  // namespace jccl::device
