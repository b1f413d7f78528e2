// User memory that the network may reach for as long as an operation runs.
#pragma once

#include <cstddef>

#include "base/progress_engine.h"

namespace jccl {

class Loan {
 public:
  // Registering less costs more than copying it.
  static constexpr size_t kLeastBytes = 256 * 1024;

  // `network` is null where there is none.
  explicit Loan(ProgressEngine* network) : network_(network) {}
  ~Loan() {
    if (given_) network_->endLending();
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  // `written`: pieces may be received into it.
  void add(const void* address, size_t bytes, bool written) {
    if (network_ == nullptr || address == nullptr || bytes < kLeastBytes) return;
    network_->lend(address, bytes, written);
    given_ = true;
  }

 private:
  ProgressEngine* const network_;
  bool given_ = false;
};

}  // namespace jccl
