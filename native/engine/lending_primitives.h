// Primitives of the direct all-reduce where a network joins all ranks: pieces are sent from where they lie.
#pragma once

#include <cstdint>

#include "base/progress_engine.h"
#include "primitives/host_primitives.h"

namespace jccl {

// A piece to send is lent to the network (SlotHeader::lent) instead of being copied to its slot; what comes is received
// and reduced like everywhere. Two things follow: in place, a piece is overwritten only when it has been sent, and the
// operation ends only when all has been. After a failure the network gives back what it has not sent.
class LendingPrimitives {
 public:
  // From this size of the buffer on lending saves more than waiting for the last piece to leave costs.
  static constexpr size_t kLeastBytes = 16 * 1024;

  LendingPrimitives(Waiter& waiter, const Transfer& transfer, const Links& links)
      : waiter_(waiter), transfer_(transfer), links_(links), receiver_(waiter, transfer, links, nullptr) {}

  // As in HostPrimitives; pieces are of one step and are received in the order in which they were sent.
  void send(size_t in, size_t count) {
    const auto* data = transfer_.input + in * transfer_.elementBytes;
    const auto bytes = static_cast<uint32_t>(count * transfer_.elementBytes);
    for (int i = 0; i < links_.sendCount; ++i) {
      SendConnection& connection = *links_.send[i];
      if (!awaitHead(connection, connection.step + 1, kSlots)) return;
      SlotHeader* header = connection.memory.slotHeader(connection.step);
      header->lent = data;
      header->check = checkWord(transfer_.fingerprint, bytes);
      header->bytes = bytes;
      header->protocol = static_cast<uint8_t>(Protocol::Simple);
      header->published.store(++connection.step, std::memory_order_release);
    }
    ++unreceived_;
  }

  void recvReduceCopy(size_t in, size_t out, size_t count, bool finish) {
    --unreceived_;
    if (transfer_.input == transfer_.output && !awaitSent(unreceived_)) return;
    if (!failed_) receiver_.recvReduceCopy(in, out, count, finish);
  }

  // Once, after the schedule: returns when the network needs the buffers no more.
  void finish() {
    if (awaitSent(0) && !receiver_.failed()) return;
    waiter_.control().progress->revoke();
  }

 private:
  // Have all pieces but the last `left` been sent, to all peers?
  bool awaitSent(uint64_t left) {
    for (int i = 0; i < links_.sendCount; ++i) {
      if (!awaitHead(*links_.send[i], links_.send[i]->step - left, 0)) return false;
    }
    return true;
  }

  // Waits until `slack` or fewer steps before `step` are not sent.
  bool awaitHead(SendConnection& connection, uint64_t step, uint64_t slack) {
    if (failed_ || receiver_.failed()) return false;
    const auto sent = [&connection, step, slack] {
      connection.cachedHead = connection.memory.head->head.load(std::memory_order_acquire);
      return step <= connection.cachedHead + slack;
    };
    failed_ = !waiter_.wait(sent, {connection.peer, connection.transport, WaitFor::Credit, Protocol::Simple, step - 1});
    return !failed_;
  }

  Waiter& waiter_;
  const Transfer& transfer_;
  const Links& links_;
  HostPrimitives<Protocol::Simple> receiver_;
  uint64_t unreceived_ = 0;  // pieces sent and not yet received from the others
  bool failed_ = false;
};

}  // namespace jccl
