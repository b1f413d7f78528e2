// Chooses how data is stored: into the cache, or past it with non-temporal stores. The choice is based on measurements
// that are repeated all the time.
//
// Neither kind of store is better everywhere, and the difference is large. Chunks in peers' SIMPLE slots (all-reduce of
// 1 MiB between 2 ranks, microseconds):
//
//     cores of the two ranks         cached   past the cache
//     share the third-level cache        60              140
//     share no cache                    640              120
//
// and outputs of large operations (2 ranks that share the third-level cache, buffers in place, microseconds):
//
//     reported third-level cache      bytes   cached   past the cache
//     260 MiB, in a virtual machine   1 MiB       33               50
//     of two cores                   16 MiB     1360              980
//                                    64 MiB    10000             4660
//
// Cores that share no cache take a line back from each other for every store. No query reliably tells on which cores
// ranks run, and this changes while they run (virtual machines move). Nor does a query tell how much of a shared cache
// a host can use. So each rank times its own operations, by collective and size, and uses the faster kind of store.
//
// An operation takes as long as its slowest rank. A rank that tries the faster kind alone sees no gain, so all ranks
// must change at the same time. Counting operations makes them do so, because all ranks of a communicator run the same
// operations in the same order. Of every Samples::period operations of a collective and size, all ranks measure the
// first few, one kind of store after the other. Each rank then decides by its own times.
//
// If data goes in one direction only, the sender is ahead of the receiver by all slots, and the time of its stores does
// not show what they cost the receiver. So the sender measures only once the slots are full, when it is as slow as the
// receiver. (Judged by its stores alone, a sender would store a reduction of 64 KiB past a cache that both ranks share:
// 4.1 instead of 1.7 microseconds.)
//
// The choice does not change results, and a receiver cannot see it.
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
  // `order`: 0 or 1. Two policies that measure the same operations need different orders: the second then measures
  // after the first, and neither disturbs the other.
  explicit StorePolicy(int order = 0) : order_(order) {}

  // Returns true if the operation that starts now must store past the cache. `guess`: the answer before the first
  // measurement. Call took() after the operation, before the next call.
  bool streams(Collective collective, size_t bytes, bool guess = false) {
    Kind& kind = of(collective, bytes);
    const Samples samples = samplesOf(collective, bytes);
    const int place = kind.place - beginOf(kind, samples);
    if (place >= 0 && place < 2 * samples.all()) return place >= samples.all();
    return kind.decided ? kind.streaming : guess;
  }

  // Records how long the operation took.
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
  // The operations that are measured for each kind of store.
  struct Samples {
    // operations that are not counted, because they find slots and caches as the other kind of store left them
    int skipped;
    int counted;
    int period;  // number of operations from one measurement to the next
    // true: the sender runs ahead, and Time::typical() is compared; false: Time::shortest is compared, because late
    // peers only add time
    bool ahead = false;

    constexpr int all() const { return skipped + counted; }
  };

  // Few large operations suffice, because they take long and each fills the slots. If one kind of store takes twice as
  // long as the other, measurements cost about 2 % of the time.
  static constexpr size_t kLargeBytes = 8u << 20;
  static constexpr Samples samplesOf(Collective collective, size_t bytes) {
    if (bytes >= kLargeBytes) return {0, 2, 128};
    return isAhead(collective) ? Samples{kSlots, 8, 1024, true} : Samples{1, 3, 512};
  }

  static constexpr bool isAhead(Collective collective) {
    return hasRoot(collective) || collective == Collective::SendRecv;
  }

  // The times of consecutive operations.
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
    // Returns the sum of all times but the two longest, in which a rank may have been late.
    int64_t typical() const { return sum - longest[0] - longest[1]; }
  };

  // Number of first operations that are not measured if the sender is ahead, because each of them uses a new part of
  // its slot.
  static constexpr int kFresh = 4 * kSlots;

  struct Kind {
    Time time;                // times of the kind of store that is being measured
    int64_t cachedNanos = 0;  // the measured time of stores into the cache
    int place = 0;            // number of the next operation in the period
    bool decided = false;     // true after the first measurement
    bool streaming = false;   // result of the last measurement: stores past the cache are faster
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
