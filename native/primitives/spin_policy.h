// How long a thread that waits checks its condition and yields before it sleeps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jccl {

struct SpinPolicy {
  bool oversubscribed = false;  // ranks outnumber cores: they are time-sliced, and a spin keeps a peer from running
  int polls = 2000;             // checks of the condition before anything else
  int firstYields = 0;          // then yields, before a clock is read
  int64_t spinNanos = 100'000;  // then spins for so long: a yield would give the core to another program for a slice
  int64_t yieldNanos =
      4'000'000;  // then yields until so long has passed, then sleeps. A peer is back after a slice, and a
                  // core that falls idle meanwhile draws it away from its own

  static bool isOversubscribed(int localRanks, int cores) { return localRanks > cores; }

  // `spinNanos` -1: chosen here. A caller that sets spins gets them before the first yield.
  static SpinPolicy of(int localRanks, int cores, int64_t spinNanos) {
    SpinPolicy policy;
    if (isOversubscribed(localRanks, cores)) {
      policy.oversubscribed = true;
      policy.polls = 4;
      policy.firstYields = spinNanos <= 0 ? 3 : 0;
      policy.spinNanos = 0;
      policy.yieldNanos = kShortYieldNanos;
    }
    if (spinNanos >= 0) policy.spinNanos = spinNanos;
    return policy;
  }

  // A waiting thread also moves the network: checking memory alone for long would hold that up. What arrives wakes it, if there
  // are events; else a sleep is a pause of the network.
  void addNetwork(bool hasEvents) {
    polls = std::min(polls, 50);
    firstYields = 0;
    if (hasEvents) yieldNanos = kShortYieldNanos;
  }

 private:
  static constexpr int64_t kShortYieldNanos = 300'000;
};

// What one wait does next, by the time that it has taken so far. The caller reads the clock.
class WaitPhases {
 public:
  enum class Phase { Spin, Yield, Sleep };

  WaitPhases(int64_t spinNanos, int64_t yieldNanos) : spinNanos_(spinNanos), yieldNanos_(yieldNanos) {}

  // `sharesCore`: the awaited rank is on this thread's core, and runs only when this thread does not.
  Phase next(bool sharesCore) const {
    if (waited_ < spinNanos_ && !sharesCore) return Phase::Spin;
    return waited_ < yieldNanos_ ? Phase::Yield : Phase::Sleep;
  }

  // A round of spins that took longer than this was interrupted: another thread had the core. That says nothing about the
  // awaited rank, so it counts as a short round. A long yield counts in full, in this wait only.
  void took(Phase phase, int64_t nanos) {
    lastYield_ = phase == Phase::Yield ? nanos : 0;
    beforeLast_ = waited_;
    waited_ += phase == Phase::Spin ? std::min(nanos, kMaxSpinRoundNanos) : nanos;
  }

  // Whether spins were in vain: the last round was a yield within these limits, after all spins.
  bool neededYield(int64_t min, int64_t max) const {
    return beforeLast_ >= spinNanos_ && lastYield_ >= min && lastYield_ < max;
  }

 private:
  static constexpr int64_t kMaxSpinRoundNanos = 20'000;

  int64_t spinNanos_;
  int64_t yieldNanos_;
  int64_t waited_ = 0;
  int64_t beforeLast_ = 0;
  int64_t lastYield_ = 0;
};

}  // namespace jccl
