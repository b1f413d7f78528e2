// How long a thread that waits checks its condition and yields before it sleeps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jccl {

struct SpinPolicy {
  bool oversubscribed = false;   // ranks outnumber cores: they are time-sliced, and a spin keeps a peer from running
  int polls = 2000;              // checks of the condition before anything else
  int firstYields = 0;           // then yields, before a clock is read
  int64_t spinNanos = 20'000;    // then spins for so long
  int64_t yieldNanos = 300'000;  // then yields for so long, then sleeps

  static bool isOversubscribed(int localRanks, int cores) { return localRanks > cores; }

  // `spinNanos` -1: chosen here. A caller that sets spins gets them before the first yield.
  static SpinPolicy of(int localRanks, int cores, int64_t spinNanos) {
    SpinPolicy policy;
    if (isOversubscribed(localRanks, cores)) {
      policy.oversubscribed = true;
      policy.polls = 4;
      policy.firstYields = spinNanos <= 0 ? 3 : 0;
      policy.spinNanos = 0;
    }
    if (spinNanos >= 0) policy.spinNanos = spinNanos;
    return policy;
  }

  // A waiting thread also moves the network: checking memory alone for long would hold that up.
  void addNetwork() {
    polls = std::min(polls, 50);
    firstYields = 0;
  }
};

}  // namespace jccl
