// What a communicator has done since it was made: counted by the thread that runs operations, read by any.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/operation.h"

namespace jccl {

// Of one writer: readers see some recent value.
class Counter {
 public:
  void add(int64_t more) { value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed); }
  int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

struct Counters {
  struct OfCollective {
    Counter operations;
    Counter bytes;    // of the larger buffer of this rank
    Counter ticks;    // as History::time() counts, of those that were timed
    Counter inPlace;  // operations that read and wrote the buffers of peers
  };
  OfCollective collectives[kCollectiveCount];

  // `ticks` 0: not timed.
  void count(Collective collective, size_t bytes, int64_t ticks, bool inPlace) {
    OfCollective& one = collectives[static_cast<int>(collective)];
    one.operations.add(1);
    one.bytes.add(static_cast<int64_t>(bytes));
    if (ticks != 0) one.ticks.add(ticks);
    if (inPlace) one.inPlace.add(1);
  }
};

}  // namespace jccl
