// Letting others run on this core, and noticing when that has become dear.
//
// Two ranks that take turns on a core hand it over by a yield in well below a microsecond. Beside a program that never
// lets go, a yield gives that program the core for a whole slice, milliseconds: then ranks do better to sleep, because one
// that is woken goes first. Which of the two it is only the duration of a yield tells.
#pragma once

#include <cstdint>

namespace jccl {

// Of one thread at a time.
class Yielding {
 public:
  // Returns whether yielding is to be avoided from now on. Few yields read a clock.
  bool yield() {
    if (__builtin_expect(--untimed_ > 0, 1)) {
      giveWay();
      return false;
    }
    return yieldTimed();
  }

  // A yield that the caller has timed. Returns as above.
  bool took(int64_t nanos, int64_t now);

  bool isAvoided() const { return avoidedUntil_ != 0; }
  // Whether it is time to try again; then the next yields are all timed.
  bool triesAgain(int64_t now);

  static void giveWay();

 private:
  static constexpr int kYieldsPerClock = 16;

  bool yieldTimed();

  int untimed_ = kYieldsPerClock;
  int trials_ = 0;            // yields still to be timed in a row
  int64_t avoidedUntil_ = 0;  // 0: not avoided
  int64_t avoidNanos_ = 0;    // how long it was avoided last; 0 once the trials went well
};

}  // namespace jccl
