// Passes the published slots of one connection to the network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "primitives/connection.h"
#include "transport/net.h"
#include "transport/net_proxy.h"
#include "transport/user_memory.h"

namespace jccl {

// Steps leave in order, straight from their slots:
//
//     published ──(LL: all flags seen)──> posted ──(the network has the bytes)──> done: head moves, the slot is free
//
// User memory of a ZeroCopySlot is sent without a copy. Networks that need registered memory send it through the slot
// instead, unless the user memory is registered for the duration of the operation. The network connection is made when
// the first step is published.
class SendProxy final : public NetProxy<NetSendConnection> {
 public:
  // Makes the connection and registers the slots if the network needs that.
  using Dial = std::function<Status(std::unique_ptr<NetSendConnection>*, std::unique_ptr<NetMemory>*)>;

  // `deviceSlots`: the registered GPU memory in which the connection keeps SIMPLE data; null if that data is in host
  // memory.
  SendProxy(const ConnectionMemory& memory, int peer, int channel, Dial dial, UserMemory& userMemory,
            NetMemory* deviceSlots, NetErrorLatch& errors);

  bool pending() const override;

  // Makes the connection at the next poll even if nothing is published.
  void dialAhead() { dialsAhead_ = true; }
  bool dialsAhead() const { return dialsAhead_; }
  bool connected() const { return connection_ != nullptr && connection_->connected(); }

  // Returns the number of bytes that the network received.
  uint64_t bytes() const { return bytes_; }

  // Stops sending for good if user memory has been published and has not left. The connection stays open, because the
  // peer would report a closed connection as a separate failure.
  void revoke();

 private:
  Status advance(int64_t nowNanos, int* work) override;
  std::string activity() const override { return "sending step=" + std::to_string(done_); }
  Status post(bool* posted);
  Status dial() { return connection_ != nullptr ? Status::ok() : dial_(&connection_, &registered_); }
  bool nextIsPublished() const;

  const Dial dial_;
  UserMemory& userMemory_;
  NetMemory* const deviceSlots_;
  std::unique_ptr<NetMemory> registered_;  // the slots; null if the network needs no registration
  bool dialsAhead_ = false;
  uint64_t bytes_ = 0;
  uint64_t posted_ = first_;  // the next step to pass to the network
  uint64_t done_ = first_;    // the first step whose slot the network still needs
};

}  // namespace jccl
