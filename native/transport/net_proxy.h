// Base of the proxies at the two ends of a network connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/thrown.h"
#include "primitives/connection.h"
#include "transport/net_error.h"
#include "transport/progress_callback.h"

namespace jccl {

// Serves one connection until its first error, which is final. The error goes to the transport's NetErrorLatch together
// with the step and channel at which it happened, and the network connection is dropped.
template <typename Connection>
class NetProxy : public ProgressCallback {
 public:
  int poll(int64_t nowNanos) final {
    if (failed_) return 0;
    int work = 0;
    // An exception may leave the connection half updated, so the connection fails.
    if (Status advanced = orThrown([&] { return advance(nowNanos, &work); }); !advanced) {
      failed_ = true;
      errors_.set(describe(std::move(advanced)), peer_);
      connection_.reset();
      ++work;
    }
    return work;
  }

  int64_t nextDeadlineNanos() const final {
    return connection_ == nullptr || failed_ ? INT64_MAX : connection_->nextDeadlineNanos();
  }

  // Informs the other end that no more data comes, because a call of the network never returns.
  void abandon() {
    if (connection_ != nullptr && !failed_) connection_->abandon();
  }

  void drain() {
    if (connection_ != nullptr && !failed_) connection_->drain();
  }
  bool drained() const { return connection_ == nullptr || failed_ || connection_->drained(); }

  // Closes the connection in order. The proxy then moves no more data.
  void close() {
    if (connection_ != nullptr && !failed_) connection_->close();
    connection_.reset();
    failed_ = true;
  }

 protected:
  NetProxy(const ConnectionMemory& memory, int peer, int channel, NetErrorLatch& errors)
      : memory_(memory),
        peer_(peer),
        channel_(channel),
        first_(memory.head->head.load(std::memory_order_acquire)),
        errors_(errors) {}

  // Returns the status with the place of the failure added to its text; unchanged if there is no memory for that.
  Status describe(Status status) const noexcept {
    try {
      return {status.code(), status.message() + " [" + activity() + " channel=" + std::to_string(channel_) + "]"};
    } catch (...) {
      return status;
    }
  }

  // Does all work that is possible without waiting and adds its amount to *work.
  virtual Status advance(int64_t nowNanos, int* work) = 0;

  // Returns the current activity for errors, for example "sending step=7".
  virtual std::string activity() const = 0;

  // Steps are numbered from first_, messages of the network from 0.
  uint64_t sequenceOf(uint64_t step) const { return step - first_; }

  const ConnectionMemory memory_;
  const int peer_;
  const int channel_;
  const uint64_t first_;  // first step of the connection: not 0 only in tests that make LL flags wrap
  std::unique_ptr<Connection> connection_;
  bool failed_ = false;

 private:
  NetErrorLatch& errors_;
};

}  // namespace jccl
