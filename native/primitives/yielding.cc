#include "primitives/yielding.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"

namespace jccl {
namespace {

// Whoever does not let go keeps the core for a slice, 0.7 ms and more; a rank with a large piece needs less, as a rule.
constexpr int64_t kDearNanos = 800'000;
// What a trial may cost: this part of the time, and less each time it fails.
constexpr int64_t kAvoidedPerDearYield = 64;
constexpr int64_t kLongestAvoidedNanos = 1'000'000'000;
// Beside a busy program, too, most yields are short: only every fourth to tenth gives the core to it.
constexpr int kTrials = 16;

}  // namespace

void Yielding::giveWay() { sched_yield(); }

bool Yielding::yieldTimed() {
  const int64_t start = monotonicNanos();
  giveWay();
  const int64_t now = monotonicNanos();
  return took(now - start, now);
}

bool Yielding::took(int64_t nanos, int64_t now) {
  if (nanos >= kDearNanos) {
    avoidNanos_ = std::min(std::max(2 * avoidNanos_, kAvoidedPerDearYield * nanos), kLongestAvoidedNanos);
    avoidedUntil_ = now + avoidNanos_;
    return true;
  }
  if (trials_ > 0 && --trials_ == 0) avoidNanos_ = 0;
  untimed_ = trials_ > 0 ? 1 : kYieldsPerClock;
  return false;
}

bool Yielding::triesAgain(int64_t now) {
  if (now < avoidedUntil_) return false;
  avoidedUntil_ = 0;
  trials_ = kTrials;
  untimed_ = 1;
  return true;
}

}  // namespace jccl
