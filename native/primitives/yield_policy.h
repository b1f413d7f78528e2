// Yields the core, and notices when yielding has become expensive.
//
// If two ranks are time-sliced on a core, a yield is a context switch that takes well below a microsecond. If a program
// that never yields shares the core, a yield gives it the core for a whole slice, milliseconds. Then ranks had better
// sleep, because a woken thread runs first. Only the duration of a yield tells the two cases apart.
#pragma once

#include <cstdint>

namespace jccl {

// Used by one thread at a time.
class YieldPolicy {
 public:
  // Yields that take this long are expensive. A thread that never yields keeps the core for a slice, 0.7 ms and more; a
  // rank with a large chunk usually needs less.
  static constexpr int64_t kExpensiveNanos = 800'000;

  // Yields. Returns true if yielding must be avoided from now on. Few yields read a clock.
  bool yield() {
    if (__builtin_expect(--untimed_ > 0, 1)) {
      yieldCore();
      return false;
    }
    return yieldTimed();
  }

  // Accounts for a yield that the caller has timed. Returns true if yielding must be avoided from now on.
  bool took(int64_t nanos, int64_t now);

  bool isAvoided() const { return avoidedUntil_ != 0; }
  // Returns true if it is time to try yielding again. The next yields are then all timed.
  bool triesAgain(int64_t now);

  static void yieldCore();

 private:
  static constexpr int kYieldsPerClock = 16;

  bool yieldTimed();

  int untimed_ = kYieldsPerClock;
  int timedYields_ = 0;       // number of yields still to be timed in a row
  int64_t avoidedUntil_ = 0;  // 0: not avoided
  int64_t avoidNanos_ = 0;    // duration of the last avoidance; 0 once yields are fast again
};

}  // namespace jccl
