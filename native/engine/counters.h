// Counters of a communicator's operations since its creation. The thread that runs operations writes them; any thread
// reads them.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/operation.h"

namespace jccl {

// A counter with one writer. Readers see a recent value.
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
    Counter bytes;    // sum of the sizes of this rank's larger buffer
    Counter ticks;    // time that the timed operations took, in the unit of History::time()
    Counter inPlace;  // operations that ran in place
  };
  OfCollective collectives[kCollectiveCount];

  // `ticks`: 0 if the operation was not timed.
  void count(Collective collective, size_t bytes, int64_t ticks, bool inPlace) {
    OfCollective& one = collectives[static_cast<int>(collective)];
    one.operations.add(1);
    one.bytes.add(static_cast<int64_t>(bytes));
    if (ticks != 0) one.ticks.add(ticks);
    if (inPlace) one.inPlace.add(1);
  }
};

}  // namespace jccl
