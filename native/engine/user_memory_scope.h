// User memory that the network may reach for as long as an operation runs.
#pragma once

#include <cstddef>

#include "base/progress_engine.h"

namespace jccl {

class UserMemoryScope {
 public:
  // Registering less costs more than copying it.
  static constexpr size_t kMinBytes = 256 * 1024;

  // `network` is null where there is none.
  explicit UserMemoryScope(ProgressEngine* network) : network_(network) {}
  ~UserMemoryScope() {
    if (added_) network_->clearUserMemory();
  }
  UserMemoryScope(const UserMemoryScope&) = delete;
  UserMemoryScope& operator=(const UserMemoryScope&) = delete;

  // `written`: the network may receive into it.
  void add(const void* address, size_t bytes, bool written) {
    if (network_ == nullptr || address == nullptr || bytes < kMinBytes) return;
    network_->addUserMemory(address, bytes, written);
    added_ = true;
  }

 private:
  ProgressEngine* const network_;
  bool added_ = false;
};

}  // namespace jccl
