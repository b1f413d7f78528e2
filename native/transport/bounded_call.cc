#include "transport/bounded_call.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>

#include "base/thread.h"

namespace jccl {

bool callBounded(const char* thread, int64_t timeoutNanos, std::function<void()> call) {
  struct State {
    std::mutex mutex;
    std::condition_variable over;
    bool isOver = false;
  };
  const auto state = std::make_shared<State>();
  try {
    startQuietThread(thread, [state, call = std::move(call)] {
      call();
      const std::lock_guard lock(state->mutex);
      state->isOver = true;
      state->over.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  std::unique_lock lock(state->mutex);
  return state->over.wait_for(lock, std::chrono::nanoseconds(timeoutNanos), [&] { return state->isOver; });
}

}  // namespace jccl
