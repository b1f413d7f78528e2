// Runs foreign code that may not return.
#pragma once

#include <atomic>
#include <cstdint>
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

// How often those who wait for foreign code look whether it holds its thread.
constexpr int64_t kLookNanos = 5'000'000;

// Keeps for ever what a call that has been left behind still uses, where leak checkers find it.
template <typename T>
void leaveBehind(T* used) {
  static auto* left = new std::vector<T*>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  left->push_back(used);
}

// Foreign code holds the thread, perhaps for ever.
inline void leaveThread(std::thread& thread) {
  keepMapped();
  thread.detach();
}

// Runs `body` on a thread of its own and waits for it, for at most `limitNanos`. False: it has not ended, and goes on without
// its caller, so that `body` owns all that it uses.
inline bool runWithin(int64_t limitNanos, const char* name, std::function<void()> body) {
  const auto over = std::make_shared<std::atomic<uint32_t>>(0);
  std::thread thread = startQuietThread(name, [over, body = std::move(body)] {
    body();
    over->store(1);
    futexWake(*over);
  });
  const int64_t deadline = monotonicNanos() + limitNanos;
  for (int64_t left = limitNanos; over->load() == 0 && left > 0; left = deadline - monotonicNanos()) {
    futexWaitFor(*over, 0, left);
  }
  const bool isOver = over->load() != 0;
  if (isOver) {
    thread.join();
  } else {
    leaveThread(thread);
  }
  return isOver;
}

}  // namespace jccl
