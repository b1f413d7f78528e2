#include "primitives/yield_policy.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"

namespace jccl {
namespace {

// One expensive yield is soon over, as a rule: a compiler's or a launcher's thread had something to do. The first is
// avoided for as long as it took. Each measurement that finds yields expensive doubles that, so that beside a busy
// program measurements cost next to nothing.
constexpr int64_t kLongestAvoidedNanos = 1'000'000'000;
// Beside a busy program, too, most yields are short: only every fourth to tenth gives the core to it.
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
