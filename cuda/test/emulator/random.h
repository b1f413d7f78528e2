// Pseudo-random numbers that are equal on all platforms: xorshift64*, seeded through SplitMix64.
#pragma once

#include <cstdint>

namespace jccl::emulator {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix(seed + 0x9e3779b97f4a7c15ull) | 1) {}

  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  // Returns a number below `bound`, which must not be 0.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
  bool oneIn(uint32_t n) { return below(n) == 0; }

 private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace jccl::emulator
