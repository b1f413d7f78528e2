#include "transport/bounded_call.h"

#include <atomic>
#include <memory>
#include <system_error>

#include "base/clock.h"
#include "base/futex.h"
#include "base/thread.h"

namespace jccl {

bool callBounded(const char* thread, int64_t timeoutNanos, std::function<void()> call) {
  const auto over = std::make_shared<std::atomic<uint32_t>>(0);
  try {
    startQuietThread(thread, [over, call = std::move(call)] {
      call();
      over->store(1, std::memory_order_release);
      futexWake(*over);
    }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  const int64_t end = monotonicNanos() + timeoutNanos;
  while (over->load(std::memory_order_acquire) == 0) {
    const int64_t left = end - monotonicNanos();
    if (left <= 0) return false;
    futexWaitFor(*over, 0, left);
  }
  return true;
}

}  // namespace jccl
