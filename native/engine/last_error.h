// The text of an object's last failure, which any thread may set and read.
#pragma once

#include <mutex>
#include <string>

#include "base/status.h"

namespace jccl {

class LastError {
 public:
  void set(const Status& status) {
    const std::lock_guard lock(mutex_);
    text_ = status.message();
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace jccl
