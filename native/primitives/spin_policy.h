// How long a waiting thread polls and yields before it sleeps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jccl {

struct SpinPolicy {
  // Ranks outnumber cores, so ranks are time-sliced, and a spinning rank keeps a peer from running.
  bool oversubscribed = false;
  int polls = 2000;     // number of checks of the condition at the start of a wait
  int firstYields = 0;  // number of yields after these checks, without reading a clock
  // After these yields, spins for this long: a yield would give the core to another program for a slice.
  int64_t spinNanos = 100'000;
  // After the spins, yields until the wait has taken this long, and then sleeps. A peer that another program displaced
  // is back after a slice; if this thread slept sooner, its idle core would draw the peer away from the peer's own
  // core.
  int64_t yieldNanos = 4'000'000;

  static bool isOversubscribed(int localRanks, int cores) { return localRanks > cores; }

  // `spinNanos` -1 chooses the default. If the caller asks for spins, they precede the first yield.
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

  // Adjusts the policy to network connections. A waiting thread also moves the network, so it must not poll only memory
  // for long. If there are events, arrivals wake the thread, so it may sleep early; without events, a sleep would pause
  // the network.
  void addNetwork(bool hasEvents) {
    polls = std::min(polls, 50);
    firstYields = 0;
    if (hasEvents) yieldNanos = kShortYieldNanos;
  }

 private:
  static constexpr int64_t kShortYieldNanos = 300'000;
};

// Chooses what a wait does next from the time it has taken so far. The caller reads the clock.
class WaitPhases {
 public:
  enum class Phase { Spin, Yield, Sleep };

  WaitPhases(int64_t spinNanos, int64_t yieldNanos) : spinNanos_(spinNanos), yieldNanos_(yieldNanos) {}

  // `sharesCore`: the awaited rank is on this thread's core, so that rank runs only while this thread does not.
  Phase next(bool sharesCore) const {
    if (waited_ < spinNanos_ && !sharesCore) return Phase::Spin;
    return waited_ < yieldNanos_ ? Phase::Yield : Phase::Sleep;
  }

  // Begins again with spins: the network has moved data, perhaps not what is awaited, and more may follow soon.
  void restart() { waited_ = beforeLast_ = lastYield_ = 0; }

  // Adds a phase's duration to the wait. A round of spins longer than kMaxSpinRoundNanos was interrupted, because
  // another thread had the core. The interruption says nothing about the awaited rank, so the round counts as
  // kMaxSpinRoundNanos. A long yield counts in full, but only in this wait.
  void took(Phase phase, int64_t nanos) {
    lastYield_ = phase == Phase::Yield ? nanos : 0;
    beforeLast_ = waited_;
    waited_ += phase == Phase::Spin ? std::min(nanos, kMaxSpinRoundNanos) : nanos;
  }

  // Returns true if spinning was useless: the last round was a yield of at least `min` and less than `max` ns, after
  // all spins.
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
