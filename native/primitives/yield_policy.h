// Yielding the core, and noticing when that has become expensive.
//
// Between two ranks that are time-sliced on a core a yield is a context switch of well below a microsecond. Beside a program
// that never yields, it gives that program the core for a whole slice, milliseconds: then ranks do better to sleep, because
// a thread that is woken goes first. Only the duration of a yield shows which of the two it is.
#pragma once

#include <cstdint>

namespace jccl {

// Of one thread at a time.
class YieldPolicy {
 public:
  // A thread that never yields keeps the core for a slice, 0.7 ms and more; a rank with a large chunk needs less, as a rule.
  static constexpr int64_t kExpensiveNanos = 800'000;

  // Returns whether yielding is to be avoided from now on. Few yields read a clock.
  bool yield() {
    if (__builtin_expect(--untimed_ > 0, 1)) {
      yieldCore();
      return false;
    }
    return yieldTimed();
  }

  // A yield that the caller has timed. Returns as above.
  bool took(int64_t nanos, int64_t now);

  bool isAvoided() const { return avoidedUntil_ != 0; }
  // Whether it is time to try again; then the next yields are all timed.
  bool triesAgain(int64_t now);

  static void yieldCore();

 private:
  static constexpr int kYieldsPerClock = 16;

  bool yieldTimed();

  int untimed_ = kYieldsPerClock;
  int timedYields_ = 0;       // yields still to be timed in a row
  int64_t avoidedUntil_ = 0;  // 0: not avoided
  int64_t avoidNanos_ = 0;    // how long it was avoided last; 0 once yields were fast again
};

}  // namespace jccl
