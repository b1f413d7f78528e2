// User memory at the ends of a network connection: sends it without a copy, and posts it as the address of a receive.
#pragma once

#include <cstdint>

#include "primitives/connection.h"
#include "primitives/wait.h"

namespace jccl {

// Sends the payload of the current step from `data`, which must not change until the head has passed the step. Call
// before publish().
inline void sendZeroCopy(SendConnection& connection, const uint8_t* data, uint32_t bytes) {
  connection.memory.zeroCopySlot(connection.step).userData = data;
  connection.zeroCopySends.add(connection.step, data, bytes);
}

// Posts the address for the payload of the receive that is `ahead` receives from now (less than kSlots). The network
// writes there only if the payload has these bytes and this check word.
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

// Waits until the user memory of all steps before `end` has been sent. Returns false if the operation has failed.
inline bool waitUntilSent(Waiter& waiter, SendConnection& connection, uint64_t end, Protocol protocol) {
  if (end <= connection.cachedHead) return true;
  const auto sent = [&connection, end] {
    connection.cachedHead = connection.memory.head->head.load(std::memory_order_acquire);
    return end <= connection.cachedHead;
  };
  return waiter.wait(sent, {connection.peer, connection.transport, WaitFor::Credit, protocol, end - 1});
}

}  // namespace jccl
