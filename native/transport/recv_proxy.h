// Fills the slots of one connection with data from the network.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "primitives/connection.h"
#include "transport/net.h"
#include "transport/net_proxy.h"
#include "transport/user_memory.h"

namespace jccl {

// Posts a step to the network as soon as the consumer has freed its slot. SIMPLE data lands in the slot itself, or at
// the address posted in its ZeroCopySlot, and the slot's header publishes it. The consumer polls LL and LL128 slots
// while they fill, so their data lands in separate memory and is moved into the slot cell by cell or line by line.
// Every received word is checked before it is moved. The proxy also scrubs slots when LL flags wrap.
//
//     posted ──(it has arrived)──> taken ──(in GPU memory: the flush is over)──> delivered
class RecvProxy final : public NetProxy<NetRecvConnection> {
 public:
  // `deviceSlots`: the registered GPU memory in which the connection keeps SIMPLE data; null if that data is in host
  // memory.
  RecvProxy(const ConnectionMemory& memory, int peer, int channel, UserMemory& userMemory, NetMemory* deviceSlots,
            NetErrorLatch& errors);

  // Called once, when the sender's connection has arrived over `net`.
  void attach(std::unique_ptr<NetRecvConnection> connection, Net& net);
  bool attached() const { return connection_ != nullptr; }

  // Stops receiving for good if data may be in flight to an address that a ZeroCopySlot posted.
  void revoke();

  // Allows the sender to write into registered memory; see NetRecvConnection::expose. Called under the engine's lock.
  Status expose(NetMemory& memory, uint32_t* key);

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
  std::unique_ptr<uint64_t[]> landing_;       // 8 LL slots, then 8 LL128 slots; pages are touched only when used
  std::unique_ptr<NetMemory> slotsMemory_;    // null if the network needs no registration
  std::unique_ptr<NetMemory> landingMemory_;  // landing_; null if the network needs no registration
  bool exposes_ = false;                      // the sender may write into memory other than slots
  Status attached_;                           // the error if attach() could not register the memory
  uint64_t posted_ = first_;                  // the next step to post
  uint64_t taken_ = first_;                   // the next step that has not arrived
  uint64_t delivered_ = first_;               // the next step to deliver
  std::array<Taken, kNetInFlight> arrived_;   // the steps from delivered_ to taken_ - 1
};

}  // namespace jccl
