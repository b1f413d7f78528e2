// What a GPU's runtime tells the pump of its staged connections: how many operations have begun and ended. One object in plain
// memory of the process, whose address goes from the library of the host's engine to that of the GPU's.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <mutex>

namespace jccl {

class StagingActivity {
 public:
  void begin() {
    begun_.fetch_add(1);
    if (sleeping_.load()) wake();
  }
  void end() { ended_.fetch_add(1); }

  // Ended is looked at first: what has begun meanwhile counts as in flight.
  bool inFlight() const {
    const uint32_t ended = ended_.load();
    return begun_.load() != ended;
  }
  // How many have begun; wraps. An operation may begin and end between two looks, and leave data to be moved.
  uint32_t begun() const { return begun_.load(); }

  // Of the runtime, which comes to its end before the pump does: the word that ends its kernels is not touched any more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  // Of the pump: does something with that word, as long as there is one.
  template <class Body>
  void unlessClosed(Body&& body) {
    const std::lock_guard lock(mutex_);
    if (!closed_) body();
  }

  // Of the pump: sleeps until more than so many have begun, or so long.
  void nap(uint32_t begun, int64_t nanos) {
    sleeping_.store(true);
    const timespec time{nanos / 1'000'000'000, nanos % 1'000'000'000};
    ::syscall(SYS_futex, &begun_, FUTEX_WAIT_PRIVATE, begun, &time, nullptr, 0);
    sleeping_.store(false);
  }
  void wake() { ::syscall(SYS_futex, &begun_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

 private:
  std::atomic<uint32_t> begun_{0};
  std::atomic<uint32_t> ended_{0};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  bool closed_ = false;
};

}  // namespace jccl
