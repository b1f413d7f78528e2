// A lock for sections that take less than a microsecond: a release is a plain store, half the price of a mutex.
#pragma once

#include <atomic>
#include <thread>

namespace jccl {

class SpinLock {
 public:
  void lock() {
    while (isLocked_.exchange(true, std::memory_order_acquire)) {
      // The holder may wait for this core.
      for (int polls = 0; isLocked_.load(std::memory_order_relaxed); ++polls) {
        if (polls >= kPolls) std::this_thread::yield();
      }
    }
  }
  void unlock() { isLocked_.store(false, std::memory_order_release); }

 private:
  static constexpr int kPolls = 100;
  std::atomic<bool> isLocked_{false};
};

}  // namespace jccl
