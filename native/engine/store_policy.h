// How something is stored: into the cache, or past it with non-temporal stores. Decided by measuring, all the time.
//
// Neither is better everywhere, and the difference is large. Chunks in peers' SIMPLE slots (all-reduce of 1 MiB between
// 2 ranks, microseconds):
//
//     cores of the two ranks         cached   past the cache
//     share the third-level cache        60              140
//     share no cache                    640              120
//
// and the outputs of large operations (2 ranks that share it, buffers in place, microseconds):
//
//     reported third-level cache      bytes   cached   past the cache
//     260 MiB, in a virtual machine   1 MiB       33               50
//     of two cores                   16 MiB     1360              980
//                                    64 MiB    10000             4660
//
// Cores that share nothing take a line back from each other for every store. No query returns reliably which cores the
// ranks get (virtual machines move), and it changes while they run; nor how much of a shared cache a host can use. So
// each rank times its own operations, by collective and size, and keeps to the faster one.
//
// An operation takes as long as its slowest rank, so a rank that uses the faster one alone sees no gain: all must change at
// the same time. They count operations for that. All ranks of a communicator run the same ones in the same order; of
// every so many of a kind, the first few are measured on all ranks, one kind of store first, then the other, and each
// rank decides by its own times.
//
// Results do not depend on it, nor can a receiver see the difference.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/operation.h"

namespace jccl {

class StorePolicy {
 public:
  // Two measurements of the same operations follow each other, 0 or 1, so that neither disturbs the other.
  explicit StorePolicy(int order = 0) : order_(order) {}

  // Whether the operation that starts now is to store past the cache; `guess` is the answer until a measurement has
  // given one. took() follows, before the next of any kind.
  bool streams(Collective collective, size_t bytes, bool guess = false) {
    Kind& kind = of(collective, bytes);
    const int samples = samplesOf(bytes);
    const int place = kind.place - beginOf(samples);
    if (place >= 0 && place < 2 * samples) return place >= samples;
    return kind.decided ? kind.streaming : guess;
  }

  // The operation is over.
  void took(Collective collective, size_t bytes, int64_t nanos) {
    Kind& kind = of(collective, bytes);
    const int samples = samplesOf(bytes);
    const int place = kind.place - beginOf(samples);
    kind.place = kind.place + 1 < periodOf(bytes) ? kind.place + 1 : 0;
    if (place < 0 || place >= 2 * samples) return;
    // The first of a kind finds slots and caches as the other has left them, which counts only where it is a small part
    // of an operation. Waiting for a late peer only ever adds to the others.
    int64_t& best = kind.best[place / samples];
    const int fresh = bytes < kLargeBytes ? 1 : 0;
    best = place % samples <= fresh ? nanos : std::min(best, nanos);
    if (place + 1 < 2 * samples) return;
    kind.streaming = kind.best[1] < kind.best[0];
    kind.decided = true;
  }

 private:
  // Large operations take long, and few of them suffice. A measurement takes some 2 % of the time where one kind of
  // store takes twice as long as the other.
  static constexpr size_t kLargeBytes = 8u << 20;
  static constexpr int samplesOf(size_t bytes) { return bytes < kLargeBytes ? 4 : 2; }
  static constexpr int periodOf(size_t bytes) { return bytes < kLargeBytes ? 512 : 128; }
  int beginOf(int samples) const { return order_ * 2 * samples; }

  struct Kind {
    int64_t best[2] = {0, 0};  // nanoseconds, [streaming], of this measurement
    int place = 0;             // in the period
    bool decided = false;      // by a measurement
    bool streaming = false;    // its result
  };

  Kind& of(Collective collective, size_t bytes) {
    return kinds_[static_cast<size_t>(collective)][std::bit_width(bytes) % kSizes];
  }

  static constexpr size_t kSizes = 64;
  int order_;
  std::array<std::array<Kind, kSizes>, kCollectiveCount> kinds_;
};

}  // namespace jccl
