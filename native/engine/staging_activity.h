// What a GPU's runtime reports to the proxy thread of its staged connections: how many operations have begun and ended.
// One object in plain memory of the process, whose address the host engine's library passes to the GPU's.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/futex.h"

namespace jccl {

class StagingActivity {
 public:
  void begin() {
    begun_.fetch_add(1);
    if (sleeping_.load()) wake();
  }
  void end() { ended_.fetch_add(1); }

  // Ended is read first: what has begun meanwhile counts as in flight.
  bool inFlight() const {
    const uint32_t ended = ended_.load();
    return begun_.load() != ended;
  }
  // How many have begun; wraps. An operation may begin and end between two polls, and leave data to be moved.
  uint32_t begun() const { return begun_.load(); }

  // Of the runtime, which ends before the proxy thread: the word that ends its kernels is not touched any more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  // Of the proxy thread: does something with that word, as long as there is one.
  template <class Body>
  void unlessClosed(Body&& body) {
    const std::lock_guard lock(mutex_);
    if (!closed_) body();
  }

  // Of the proxy thread: sleeps until more than so many have begun, or so long.
  void sleep(uint32_t begun, int64_t nanos) {
    sleeping_.store(true);
    futexWaitFor(begun_, begun, nanos);
    sleeping_.store(false);
  }
  void wake() { futexWake(begun_); }

 private:
  std::atomic<uint32_t> begun_{0};
  std::atomic<uint32_t> ended_{0};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  bool closed_ = false;
};

}  // namespace jccl
