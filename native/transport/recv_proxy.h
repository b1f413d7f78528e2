// Fills the slots of one connection from the network.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "primitives/connection.h"
#include "transport/net.h"
#include "transport/net_proxy.h"
#include "transport/user_memory.h"

namespace jccl {

// A step is posted to the network as soon as the consumer has freed its slot. SIMPLE data lands in the slot itself, or
// at the address posted in its ZeroCopySlot, and is published by the slot's header; LL and LL128 slots are polled by
// the consumer while they fill, so these land beside it and are moved there cell by cell, line by line. Every received
// word is checked first. Where LL flags wrap, the proxy also scrubs the slots.
//
//     posted ──(the network has it)──> taken ──(in memory of a GPU: the flush is over)──> delivered
class RecvProxy final : public NetProxy<NetRecvConnection> {
 public:
  // `deviceSlots`: where the connection keeps SIMPLE data in memory of a GPU, known to the network; otherwise null.
  RecvProxy(const ConnectionMemory& memory, int peer, int channel, UserMemory& userMemory, NetMemory* deviceSlots,
            NetErrorLatch& errors);

  // The sender's connection has come over this network. It comes once.
  void attach(std::unique_ptr<NetRecvConnection> connection, Net& net);
  bool attached() const { return connection_ != nullptr; }

  // Receives nothing any more if data may be in flight to an address that a ZeroCopySlot posted.
  void revoke();

  bool expecting() const override { return attached() && connection_->expecting(); }

 private:
  Status advance(int64_t nowNanos, int* work) override;
  std::string activity() const override { return "receiving step=" + std::to_string(delivered_); }
  Status post();
  Status take(bool* arrived);
  Status deliverNext(bool* delivered);
  void postUserAddresses();
  Status deliver(uint64_t step, const NetArrival& arrival);
  Status deliverLL(uint64_t step, const NetMessage& message);
  Status deliverLL128(uint64_t step, const NetMessage& message);
  Status refuse(uint64_t step, const NetMessage& message, const char* why) const;
  uint8_t* landingLL(uint64_t step) const;
  uint8_t* landingLL128(uint64_t step) const;

  struct Taken {
    NetArrival arrival;
    bool flushes = false;
  };

  UserMemory& userMemory_;
  NetMemory* const deviceSlots_;
  std::unique_ptr<uint64_t[]> landing_;       // 8 LL slots, 8 LL128 slots; pages are touched only when used
  std::unique_ptr<NetMemory> slotsMemory_;    // null where the network needs none
  std::unique_ptr<NetMemory> landingMemory_;  // likewise
  Status attached_;                           // why the memory could not be registered
  uint64_t posted_ = first_;                  // the next step to post
  uint64_t taken_ = first_;                   // the next step that has not arrived
  uint64_t delivered_ = first_;               // the next step to deliver
  std::array<Taken, kNetInFlight> arrived_;   // from delivered_ to taken_
};

}  // namespace jccl
