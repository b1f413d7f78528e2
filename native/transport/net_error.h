// The first error of any connection of a transport.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "base/status.h"

namespace jccl {

// Keeps the first error and drops later ones, which are its consequences. Thread-safe; isSet() is one load.
class NetErrorLatch {
 public:
  void set(Status error, int peer) {
    const std::lock_guard lock(mutex_);
    if (isSet()) return;
    error_ = std::move(error);
    peer_ = peer;
    set_.store(true, std::memory_order_release);
  }

  bool isSet() const { return set_.load(std::memory_order_acquire); }

  // Returns ok, or the first error; *peer is the rank that it is about, or -1.
  Status get(int* peer) const {
    const std::lock_guard lock(mutex_);
    *peer = peer_;
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> set_{false};
  Status error_;
  int peer_ = -1;
};

}  // namespace jccl
