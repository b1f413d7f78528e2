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
// Where data goes one way only, who sends is ahead by all slots, and its own stores say nothing of what they cost the
// receiver: they are measured once the slots are full, when it is as slow as the receiver. (Its stores alone would send a
// reduction of 64 KiB past a cache that both share: 4.1 instead of 1.7 microseconds.)
//
// Results do not depend on it, nor can a receiver see the difference.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

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
    const Samples samples = samplesOf(collective, bytes);
    const int place = kind.place - beginOf(kind, samples);
    if (place >= 0 && place < 2 * samples.all()) return place >= samples.all();
    return kind.decided ? kind.streaming : guess;
  }

  // The operation is over.
  void took(Collective collective, size_t bytes, int64_t nanos) {
    Kind& kind = of(collective, bytes);
    const Samples samples = samplesOf(collective, bytes);
    const int place = kind.place - beginOf(kind, samples);
    kind.place = kind.place + 1 < samples.period ? kind.place + 1 : 0;
    if (place < 0 || place >= 2 * samples.all()) return;
    const int at = place % samples.all() - samples.skipped;
    if (at < 0) return;
    kind.time.add(nanos, at == 0);
    if (at + 1 < samples.counted) return;
    const int64_t result = samples.ahead ? kind.time.typical() : kind.time.shortest;
    if (place < samples.all()) {
      kind.cachedNanos = result;
    } else {
      kind.streaming = result < kind.cachedNanos;
      kind.decided = true;
    }
  }

 private:
  // Of each kind of store.
  struct Samples {
    int skipped;  // they find slots and caches as the other kind has left them
    int counted;
    int period;          // operations from one measurement to the next
    bool ahead = false;  // the sender is: all count, else the shortest, as waiting for a late peer only ever adds

    constexpr int all() const { return skipped + counted; }
  };

  // Large operations take long, and few of them suffice; they fill the slots by themselves. A measurement takes some 2 % of
  // the time where one kind of store takes twice as long as the other.
  static constexpr size_t kLargeBytes = 8u << 20;
  static constexpr Samples samplesOf(Collective collective, size_t bytes) {
    if (bytes >= kLargeBytes) return {0, 2, 128};
    return isAhead(collective) ? Samples{kSlots, 8, 1024, true} : Samples{1, 3, 512};
  }

  static constexpr bool isAhead(Collective collective) {
    return hasRoot(collective) || collective == Collective::SendRecv;
  }

  // Of consecutive operations.
  struct Time {
    int64_t shortest = 0;
    int64_t sum = 0;
    int64_t longest[2] = {0, 0};

    void add(int64_t nanos, bool first) {
      if (first) *this = {nanos};
      shortest = std::min(shortest, nanos);
      sum += nanos;
      if (nanos > longest[0]) std::swap(nanos, longest[0]);
      longest[1] = std::max(longest[1], nanos);
    }
    // Without those in which somebody was late.
    int64_t typical() const { return sum - longest[0] - longest[1]; }
  };

  // Operations that touch parts of slots for the first time: each uses another part of its slot.
  static constexpr int kFresh = 4 * kSlots;

  struct Kind {
    Time time;                // of the kind of store that is measured
    int64_t cachedNanos = 0;  // the result for the first
    int place = 0;            // in the period
    bool decided = false;     // by a measurement
    bool streaming = false;   // its result
  };

  int beginOf(const Kind& kind, const Samples& samples) const {
    return order_ * 2 * samples.all() + (samples.ahead && !kind.decided ? kFresh : 0);
  }

  Kind& of(Collective collective, size_t bytes) {
    return kinds_[static_cast<size_t>(collective)][std::bit_width(bytes) % kSizes];
  }

  static constexpr size_t kSizes = 64;
  int order_;
  std::array<std::array<Kind, kSizes>, kCollectiveCount> kinds_;
};

}  // namespace jccl
