#include "base/call_watch.h"

#include <unistd.h>

namespace jccl {

bool CallWatch::isStuck(int64_t nowNanos, int64_t limitNanos) {
  uint64_t state = state_.load(std::memory_order_acquire);
  if ((state & kLeft) != 0) return true;
  if (state % 2 == 0) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (seen_ != state) {
    seen_ = state;
    seenNanos_ = nowNanos;
    return false;
  }
  if (nowNanos - seenNanos_ < limitNanos) return false;
  stuckNanos_.store(nowNanos - seenNanos_);
  return state_.compare_exchange_strong(state, state | kLeft, std::memory_order_acq_rel);
}

Status CallWatch::error() const {
  return Status::transport(who_ + ": " + function_.load(std::memory_order_relaxed) + " has not returned for " +
                           std::to_string(stuckNanos_.load() / 1'000'000) +
                           " ms; its thread and the memory that it was given are left behind. Restart the process "
                           "to be rid of them, and see what the plug-in logged");
}

void CallWatch::stayForEver() {
  for (;;) ::pause();
}

}  // namespace jccl
