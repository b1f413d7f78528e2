// Connections that carry messages over queue pairs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/ib_memory.h"
#include "transport/ib_queue_pairs.h"
#include "transport/message_window.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/socket_dialer.h"

namespace jccl {

// Chooses the queue pairs of a message: either all of them, each with a part, or one of them in rotation.
class IbSharing {
 public:
  IbSharing(uint32_t queuePairs, bool split) : queuePairs_(queuePairs), split_(split && queuePairs > 1) {}

  uint32_t parts() const { return split_ ? queuePairs_ : 1; }
  uint8_t qpOf(uint64_t sequence, uint32_t part) const {
    return static_cast<uint8_t>(split_ ? part : sequence % queuePairs_);
  }
  // Returns where part `part` of a message begins. For `part` equal to parts(), returns the end of the message.
  uint32_t offset(uint32_t bytes, uint32_t part) const;

 private:
  const uint32_t queuePairs_;
  const bool split_;
};

// Sends a message once a receive credit has told its destination:
//
//     Dialling ──proved──> Introduced ──the peer's info: RTR, RTS──> Pinging ──all answers──> Connected
//
//     posted ──(its receive credit has arrived)──> WRITE data, WRITE_WITH_IMM header ──(completions)──> done
//
// A message for which the receiver has posted an address (CTS) is written to that address instead of the slot. A
// message whose CTS is awaited is sent without the CTS only if no other message is in flight.
class IbSendConnection final : public NetSendConnection, private IbQueuePairs::Listener {
 public:
  IbSendConnection(const NetConfig& config, const NetRoute& route, verbs::Adapter& adapter, EventSet& controlEvents,
                   EventSet& dataEvents, std::vector<SocketDialer::Pair> pairs);

  bool connected() const override { return state_ == State::Connected; }
  Status isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) override;
  Status test(uint64_t sequence, bool* done) override;
  Status reach(NetMemory& memory) override { return reachWith(adapter_, memory); }
  Status progress(int64_t nowNanos, int* work) override;
  int64_t nextDeadlineNanos() const override;
  void revoke() override;
  void close() override;
  std::string describe() const override;

 private:
  enum class State : uint8_t { Dialling, Introduced, Pinging, Connected };
  struct Slot {
    NetMessage message;
    const uint8_t* data = nullptr;
    IbMemory* memory = nullptr;
    bool awaitsCts = false;
    NetExposed exposed;
    uint32_t partsLeft = 0;
  };

  Status shakeHands(int64_t nowNanos, int* work);
  Status introduce(DataSocket socket);
  Status ping();
  bool mayPush(uint64_t sequence) const;
  Status push(uint64_t sequence);
  Status onReceived(const IbWork& work, uint32_t immediate) override;
  Status onSent(const IbWork& work) override;

  const NetConfig& config_;
  const int peer_;
  verbs::Adapter& adapter_;
  EventSet& controlEvents_;
  EventSet& dataEvents_;
  const IbSharing sharing_;
  std::unique_ptr<SocketDialer> dialer_;      // null once the secret is proved
  std::unique_ptr<IbQueuePairs> queuePairs_;  // null until the secret is proved
  State state_ = State::Dialling;
  int64_t startedNanos_ = -1;
  uint32_t answers_ = 0;  // number of answered pings
  MessageWindow<Slot> window_;
  std::array<IbClearToSend, kNetInFlight> cts_;
  uint32_t inFlight_ = 0;  // number of messages that the adapter has accepted and not completed
  uint64_t pushed_ = 0;    // the next message to pass to the adapter
  uint64_t credits_ = 0;   // number of receive credits that have arrived
};

// Sends a receive credit for every posted receive once all pings have arrived, and a CTS once an address is posted.
class IbRecvConnection final : public NetRecvConnection, private IbQueuePairs::Listener {
 public:
  IbRecvConnection(const NetConfig& config, int peer, verbs::Adapter& adapter, EventSet& dataEvents);

  Status open(DataSocket socket, EventSet& controlEvents);
  Status irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) override;
  void redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) override;
  Status test(uint64_t sequence, bool* done, NetArrival* arrival) override;
  bool expecting() const override { return pollsLeft_ > 0; }
  Status flush(uint64_t sequence, const NetBuffer& data) override;
  Status flushed(uint64_t sequence, bool* done) override;
  Status expose(NetMemory& memory, uint32_t* key) override;
  Status reach(NetMemory& memory) override { return reachWith(queuePairs_.adapter(), memory); }
  Status progress(int64_t nowNanos, int* work) override;
  int64_t nextDeadlineNanos() const override { return queuePairs_.adapter().nextDeadlineNanos(); }
  void revoke() override { queuePairs_.silence(); }
  void close() override { queuePairs_.control().sendFin(); }
  std::string describe() const override { return queuePairs_.describe(); }

 private:
  struct Slot {
    std::array<NetBuffer, kNetTags> byTag;
    enum class Cts : uint8_t { None, Known, Sent } cts = Cts::None;
    NetMessage expected;  // the only message that may go to postedBuffer
    NetBuffer postedBuffer;
    uint32_t parts = 0;  // number of parts that have arrived
    uint32_t bytes = 0;  // total size of these parts
  };

  Status join();
  Status sendCredit(uint64_t sequence);
  Status sendCts(uint64_t sequence);
  Status badHeader(const IbMessageHeader& header, const std::string& why) const;
  Status onReceived(const IbWork& work, uint32_t immediate) override;
  Status onSent(const IbWork&) override { return Status::ok(); }

  const NetConfig& config_;
  EventSet& dataEvents_;
  const IbSharing sharing_;
  IbQueuePairs queuePairs_;
  uint32_t pings_ = 0;
  MessageWindow<Slot> window_;
  uint64_t credited_ = 0;  // the next receive that needs a credit
  int pollsLeft_ = 0;
};

}  // namespace jccl
