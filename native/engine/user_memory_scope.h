// Makes user memory known to the network while an operation runs.
#pragma once

#include <cstddef>

#include "base/progress_engine.h"

namespace jccl {

class UserMemoryScope {
 public:
  // Size of the smallest buffer that is made known to the network: registering a smaller buffer costs more than copying
  // it.
  static constexpr size_t kMinBytes = 256 * 1024;

  // `network`: null if the communicator uses no network.
  explicit UserMemoryScope(ProgressEngine* network) : network_(network) {}
  ~UserMemoryScope() {
    if (added_) network_->clearUserMemory();
  }
  UserMemoryScope(const UserMemoryScope&) = delete;
  UserMemoryScope& operator=(const UserMemoryScope&) = delete;

  // `written`: the network may receive into the memory.
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
