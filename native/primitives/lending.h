// User memory at the ends of a network connection: lent to be sent from where it lies, and wanted pieces of it.
#pragma once

#include <cstdint>

#include "primitives/connection.h"
#include "primitives/wait.h"

namespace jccl {

// The payload of the current step is sent from here until the head passes the step. Before publish().
inline void lend(SendConnection& connection, const uint8_t* piece, uint32_t bytes) {
  connection.memory.zeroCopySlot(connection.step).lent = piece;
  connection.lent.add(connection.step, piece, bytes);
}

// Where the payload of the receive that is `ahead` from now should go, less than kSlots, if it is what the check word says.
inline void want(const RecvConnection& connection, uint64_t ahead, uint8_t* out, uint32_t bytes, uint32_t check) {
  const uint64_t step = connection.step + ahead;
  ZeroCopySlot& slot = connection.memory.zeroCopySlot(step);
  if (slot.wantedFor.load(std::memory_order_relaxed) == step + 1) return;
  slot.wanted = out;
  slot.wantedBytes = bytes;
  slot.wantedCheck = check;
  slot.wantedFor.store(step + 1, std::memory_order_release);
}

// Waits until all that was lent by the steps before `end` has been sent. False: the operation has failed.
inline bool waitUntilSent(Waiter& waiter, SendConnection& connection, uint64_t end, Protocol protocol) {
  if (end <= connection.cachedHead) return true;
  const auto sent = [&connection, end] {
    connection.cachedHead = connection.memory.head->head.load(std::memory_order_acquire);
    return end <= connection.cachedHead;
  };
  return waiter.wait(sent, {connection.peer, connection.transport, WaitFor::Credit, protocol, end - 1});
}

}  // namespace jccl
