// How pieces are written into peers' SIMPLE slots: into the cache, or past it with non-temporal stores. Decided by
// measuring, all the time.
//
// Neither is better everywhere, and by no small factor (all-reduce of 1 MiB between 2 ranks, microseconds):
//
//     cores of the two ranks         cached   past the cache
//     share the third-level cache        60              140
//     share no cache                    640              120
//
// Cores that share nothing take a line back from each other for every store. Which cores the ranks get nobody can ask
// reliably (virtual machines move), and it changes while they run. So each rank times its own operations, by collective
// and size, and keeps to the faster way.
//
// An operation takes as long as its slowest rank, so a rank that tries the faster way alone sees no gain: all must try at
// the same time. They count operations for that. All ranks of a communicator run the same ones in the same order; of every
// so many of a kind, the first few are a trial, one way and then the other, on all ranks, and each decides by what it saw.
//
// Results do not depend on the way, nor can a receiver tell the difference.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/operation.h"

namespace jccl {

class SlotWriting {
 public:
  // Below, a piece is written so quickly that reading the clock costs more than can be won.
  static constexpr size_t kLeastBytes = 16 * 1024;

  // Whether the operation that starts now is to write past the cache. took() follows, before the next of any kind.
  bool streams(Collective collective, size_t bytes) {
    Kind& kind = of(collective, bytes);
    const int trials = trialsOf(bytes);
    if (kind.place < trials) return false;
    return kind.place < 2 * trials || kind.streaming;
  }

  // The operation is over.
  void took(Collective collective, size_t bytes, int64_t nanos) {
    Kind& kind = of(collective, bytes);
    const int trials = trialsOf(bytes);
    const int place = kind.place;
    kind.place = place + 1 < periodOf(bytes) ? place + 1 : 0;
    if (place >= 2 * trials) return;
    // The first of a way does not count: it finds the slots as the other has left them. Waiting for a late peer only ever
    // adds to the others.
    int64_t& best = kind.best[place / trials];
    best = place % trials <= 1 ? nanos : std::min(best, nanos);
    if (place + 1 == 2 * trials) kind.streaming = kind.best[1] < kind.best[0];
  }

 private:
  // Large operations take long, and few of them tell enough. A trial takes some 2 % of the time where one way takes
  // twice as long as the other.
  static constexpr size_t kLargeBytes = 8u << 20;
  static constexpr int trialsOf(size_t bytes) { return bytes < kLargeBytes ? 4 : 3; }
  static constexpr int periodOf(size_t bytes) { return bytes < kLargeBytes ? 512 : 128; }

  struct Kind {
    int64_t best[2] = {0, 0};  // nanoseconds, [streaming], of this trial
    int place = 0;             // in the period
    bool streaming = false;
  };

  Kind& of(Collective collective, size_t bytes) {
    return kinds_[static_cast<size_t>(collective)][std::bit_width(bytes) % kSizes];
  }

  static constexpr size_t kSizes = 64;
  std::array<std::array<Kind, kSizes>, kCollectiveCount> kinds_;
};

}  // namespace jccl
