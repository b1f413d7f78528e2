// User memory at the ends of a network connection: sent without a copy, and posted as the address of a receive.
#pragma once

#include <cstdint>

#include "primitives/connection.h"
#include "primitives/wait.h"

namespace jccl {

// The payload of the current step is sent from here until the head passes the step. Before publish().
inline void sendZeroCopy(SendConnection& connection, const uint8_t* data, uint32_t bytes) {
  connection.memory.zeroCopySlot(connection.step).userData = data;
  connection.zeroCopySends.add(connection.step, data, bytes);
}

// Posts where the payload of the receive that is `ahead` from now should go, less than kSlots, if it is what the check word
// says.
inline void postAddress(const RecvConnection& connection, uint64_t ahead, uint8_t* out, uint32_t bytes,
                        uint32_t check) {
  const uint64_t step = connection.step + ahead;
  ZeroCopySlot& slot = connection.memory.zeroCopySlot(step);
  if (slot.postedFor.load(std::memory_order_relaxed) == step + 1) return;
  slot.postedAddress = out;
  slot.postedBytes = bytes;
  slot.postedCheck = check;
  slot.postedFor.store(step + 1, std::memory_order_release);
}

// Waits until all user memory of the steps before `end` has been sent. False: the operation has failed.
inline bool waitUntilSent(Waiter& waiter, SendConnection& connection, uint64_t end, Protocol protocol) {
  if (end <= connection.cachedHead) return true;
  const auto sent = [&connection, end] {
    connection.cachedHead = connection.memory.head->head.load(std::memory_order_acquire);
    return end <= connection.cachedHead;
  };
  return waiter.wait(sent, {connection.peer, connection.transport, WaitFor::Credit, protocol, end - 1});
}

}  // namespace jccl
