// What the proxies at both ends of a connection share.
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

// Serves one connection until its first error, which is final: it goes to the transport's latch, with the step and the
// channel it happened at, and the network connection is given up.
template <typename Connection>
class NetProxy : public ProgressCallback {
 public:
  int poll(int64_t nowNanos) final {
    if (failed_) return 0;
    int work = 0;
    // An exception may leave the connection half updated: the connection fails.
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

  // A call will never come back from the connection: the other end learns that nothing more comes.
  void abandon() {
    if (connection_ != nullptr && !failed_) connection_->abandon();
  }

  void drain() {
    if (connection_ != nullptr && !failed_) connection_->drain();
  }
  bool drained() const { return connection_ == nullptr || failed_ || connection_->drained(); }

  // Ends the connection in order: no more comes.
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

  // The status with where it came from, as far as there is memory.
  Status describe(Status status) const noexcept {
    try {
      return {status.code(), status.message() + " [" + activity() + " channel=" + std::to_string(channel_) + "]"};
    } catch (...) {
      return status;
    }
  }

  // Does what can be done without waiting and adds to *work how much that was.
  virtual Status advance(int64_t nowNanos, int* work) = 0;

  // For errors: "sending step=7".
  virtual std::string activity() const = 0;

  // The network numbers messages from 0.
  uint64_t sequenceOf(uint64_t step) const { return step - first_; }

  const ConnectionMemory memory_;
  const int peer_;
  const int channel_;
  const uint64_t first_;  // the step that the connection begins with: not 0 only in tests, where LL flags must wrap
  std::unique_ptr<Connection> connection_;
  bool failed_ = false;

 private:
  NetErrorLatch& errors_;
};

}  // namespace jccl
