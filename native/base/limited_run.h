// Runs foreign code that may not return.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/futex.h"
#include "base/thread.h"

namespace jccl {

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
    thread.detach();
  }
  return isOver;
}

}  // namespace jccl
