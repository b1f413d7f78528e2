#include "primitives/yield_policy.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"

namespace jccl {
namespace {

// Usually the reason of an expensive yield is soon over, such as a short task of a compiler or launcher. After the
// first expensive yield, yields are avoided for as long as that yield took. Each further measurement that finds yields
// expensive doubles this time, up to a second, so that measurements next to a busy program cost almost nothing.
constexpr int64_t kLongestAvoidedNanos = 1'000'000'000;
// Even next to a busy program, most yields are short: only every fourth to tenth gives that program the core.
constexpr int kTimedYields = 16;

}  // namespace

void YieldPolicy::yieldCore() { sched_yield(); }

bool YieldPolicy::yieldTimed() {
  const int64_t start = monotonicNanos();
  yieldCore();
  const int64_t now = monotonicNanos();
  return took(now - start, now);
}

bool YieldPolicy::took(int64_t nanos, int64_t now) {
  if (nanos >= kExpensiveNanos) {
    avoidNanos_ = std::min(std::max(2 * avoidNanos_, nanos), kLongestAvoidedNanos);
    avoidedUntil_ = now + avoidNanos_;
    return true;
  }
  if (timedYields_ > 0 && --timedYields_ == 0) avoidNanos_ = 0;
  untimed_ = timedYields_ > 0 ? 1 : kYieldsPerClock;
  return false;
}

bool YieldPolicy::triesAgain(int64_t now) {
  if (now < avoidedUntil_) return false;
  avoidedUntil_ = 0;
  timedYields_ = kTimedYields;
  untimed_ = 1;
  return true;
}

}  // namespace jccl
