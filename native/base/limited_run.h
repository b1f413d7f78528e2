// Runs foreign code that may never return.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/futex.h"
#include "base/keep_mapped.h"
#include "base/thread.h"

namespace jccl {

// Interval, in ns, at which a waiting thread checks whether foreign code holds the thread it waits for.
constexpr int64_t kLookNanos = 5'000'000;

// Keeps a pointer to `used`, so that leak checkers do not report the object: a call that was left behind still uses it.
template <typename T>
void leaveBehind(T* used) {
  static auto* left = new std::vector<T*>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  left->push_back(used);
}

// Detaches a thread that foreign code holds, perhaps for ever.
inline void leaveThread(std::thread& thread) {
  keepMapped();
  thread.detach();
}

// Runs `body` on a new thread, waits at most `limitNanos` for it, and rethrows its exception. If *isOver is false,
// `body` has not ended and continues after this call, so it must own everything it uses. An error means that the thread
// could not be started and that `body` was not called.
inline Status runWithin(int64_t limitNanos, const char* name, std::function<void()> body, bool* isOver) {
  struct End {
    std::atomic<uint32_t> over{0};
    std::exception_ptr thrown;  // published by `over`
  };
  const auto end = std::make_shared<End>();
  std::atomic<uint32_t>* over = &end->over;
  std::thread thread;
  Status started = startQuietThread(
      name,
      [end, body = std::move(body)] {
        try {
          body();
        } catch (...) {
          end->thrown = std::current_exception();
        }
        end->over.store(1);
        futexWake(end->over);
      },
      &thread);
  if (!started) return started;
  const int64_t deadline = monotonicNanos() + limitNanos;
  for (int64_t left = limitNanos; over->load() == 0 && left > 0; left = deadline - monotonicNanos()) {
    futexWaitFor(*over, 0, left);
  }
  *isOver = over->load() != 0;
  if (*isOver) {
    thread.join();
    if (end->thrown != nullptr) std::rethrow_exception(end->thrown);
  } else {
    leaveThread(thread);
  }
  return Status::ok();
}

}  // namespace jccl
