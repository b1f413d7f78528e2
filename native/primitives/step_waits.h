// The waits of a step of a schedule: for slots to write and for chunks to read.
#pragma once

#include "primitives/connection.h"
#include "primitives/wait.h"

namespace jccl {

// P is the protocol on connections that are no network connections. After a failure the object stays failed.
template <Protocol P>
class StepWaits {
 public:
  bool failed() const { return failed_; }

 protected:
  explicit StepWaits(Waiter& waiter) : waiter_(waiter) {}

  bool waitForCredit(SendConnection& connection) {
    if (__builtin_expect(connection.hasCredit(), 1)) return true;
    const auto granted = [&connection] { return connection.hasCredit(); };
    const WaitPlace place{connection.peer, connection.transport, WaitFor::Credit, protocolOf(connection),
                          connection.step};
    if (waiter_.wait(granted, place)) return true;
    failed_ = true;
    return false;
  }

  bool waitForSlot(RecvConnection& connection, uint32_t check) {
    if (!wait([&] { return connection.isPublished(); }, connection)) return false;
    return connection.memory.slotHeader(connection.step)->check == check || mismatch(connection);
  }

  template <class Ready>
  bool wait(Ready&& ready, const RecvConnection& connection) {
    if (__builtin_expect(waiter_.wait(ready, placeOf(connection)), 1)) return true;
    failed_ = true;
    return false;
  }

  bool mismatch(const RecvConnection& connection) {
    waiter_.fail(Code::Mismatch, placeOf(connection));
    failed_ = true;
    return false;
  }

  static WaitPlace placeOf(const RecvConnection& connection) {
    return {connection.peer, connection.transport, WaitFor::Data, protocolOf(connection), connection.step};
  }

  template <class Connection>
  static Protocol protocolOf(const Connection& connection) {
    return connection.isNet() ? Protocol::Simple : P;
  }

  Waiter& waiter_;
  bool failed_ = false;
};

}  // namespace jccl
