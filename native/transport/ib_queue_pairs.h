// The common part of both ends of a verbs connection: queue pairs, their completions, and rings that the other end
// writes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "transport/event_set.h"
#include "transport/ib_flush.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/net_control_connection.h"
#include "verbs/adapter.h"
#include "verbs/connection_info.h"
#include "verbs/queue_pair.h"

namespace jccl {

// The purpose of a request. Encoded as the request's id, so that it comes back with the completion.
//
//     63      56 55   48 47             0
//     +---------+-------+---------------+
//     | purpose | qp    | sequence      |
//     +---------+-------+---------------+
struct IbWork {
  enum Purpose : uint8_t { Ping = 1, Credit = 2, Message = 3, ClearToSend = 4, Flush = 5 };

  Purpose purpose = Ping;
  uint8_t qp = 0;
  uint64_t sequence = 0;

  uint64_t encode() const { return uint64_t{purpose} << 56 | uint64_t{qp} << 48 | sequence; }
  static IbWork decode(uint64_t id) {
    return {static_cast<Purpose>(id >> 56), static_cast<uint8_t>(id >> 48), id & 0xffffffffffff};
  }
};

// Announces the slot of a posted receive. The receiver writes it into the sender's ring.
struct IbReceiveCredit {
  uint64_t sequence = 0;
  std::array<uint64_t, kNetTags> address{};
  std::array<uint32_t, kNetTags> rkey{};
  std::array<uint32_t, kNetTags> capacity{};  // bytes
  std::array<uint32_t, 2> unused{};
};
static_assert(sizeof(IbReceiveCredit) == 64);

// Announces the receiver-posted address for one message, which must have exactly this sequence, tag, check and size.
// The receiver writes it into the sender's ring of CTS once it knows the address. bytes=0: there is no address, and the
// message goes to its slot.
struct IbClearToSend {
  uint64_t sequence = UINT64_MAX;
  uint64_t address = 0;
  uint32_t rkey = 0;
  uint32_t bytes = 0;
  uint32_t check = 0;
  uint8_t tag = 0;
  std::array<uint8_t, 3> unused{};
};
static_assert(sizeof(IbClearToSend) == 32);

// Marks the immediate value of a CTS. The other bits are the lowest bits of the sequence.
inline constexpr uint32_t kIbCtsBit = 1U << 31;

// Header that the sender writes into the receiver's ring after the message's data.
struct IbMessageHeader {
  uint64_t sequence = 0;
  uint32_t bytes = 0;
  uint32_t check = 0;
  uint8_t tag = 0;
  enum Place : uint8_t { InSlot = 0, AtCtsAddress = 1, Exposed = 2 };  // Exposed: at an address that the sender chose
  Place place = InSlot;
  std::array<uint8_t, 6> unused{};
};
static_assert(sizeof(IbMessageHeader) == 24);

// Order of use:
//
//     open ──> (the other end's ConnectionInfo arrives) ──> join ──> pings ──> messages
class IbQueuePairs : public EventHandler {
 public:
  // Called for completions, which are in order on each queue pair.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual Status onReceived(const IbWork& work, uint32_t immediate) = 0;
    virtual Status onSent(const IbWork& work) = 0;
  };

  IbQueuePairs(const NetConfig& config, verbs::Adapter& adapter, int peer);
  ~IbQueuePairs() override;

  // Largest number of credits and CTS that can arrive before a sender polls: a credit for each receive in flight, and
  // twice as many CTS.
  static constexpr uint32_t kMaxCreditsAndCts = 3 * kNetInFlight;

  // Makes queue pairs in state Init. `events` watches their completions and the control connection.
  Status open(DataSocket socket, EventSet& events);
  Status sendInfo();
  // Connects the queue pairs to those that the info from the control connection names: RTR, RTS.
  Status join();
  // Watches the completions and the control connection through `events` from now on. Once the handshake is over,
  // connections call it with the event set for data.
  Status watch(EventSet& events);

  NetControlConnection& control() { return *control_; }
  verbs::Adapter& adapter() const { return adapter_; }
  uint8_t count() const { return static_cast<uint8_t>(qps_.size()); }
  bool joined() const { return joined_; }
  uint32_t inlineBytes() const { return inlineBytes_; }

  // received() returns entry `sequence` of a ring that the other end writes, staged() returns entry `sequence` of a
  // ring from which this end sends. At both ends CTS have separate rings. The other end may write at any time, so
  // received() copies the entry and callers check the copy.
  template <typename Entry>
  Entry received(uint64_t sequence) const {
    static_assert(sizeof(Entry) % sizeof(uint64_t) == 0 && std::is_trivially_copyable_v<Entry>);
    auto* words = reinterpret_cast<uint64_t*>(memory_.get() + entryAt(sequence, std::is_same_v<Entry, IbClearToSend>));
    std::array<uint64_t, sizeof(Entry) / sizeof(uint64_t)> copied;
    for (size_t i = 0; i < copied.size(); ++i) {
      copied[i] = std::atomic_ref<uint64_t>(words[i]).load(std::memory_order_relaxed);
    }
    return std::bit_cast<Entry>(copied);
  }
  template <typename Entry>
  Entry* staged(uint64_t sequence) {
    return reinterpret_cast<Entry*>(memory_.get() + kRingBytes +
                                    entryAt(sequence, std::is_same_v<Entry, IbClearToSend>));
  }

  Status postReceives(const IbWork& work, int count = 1);
  // Sends a ping or the answer to a ping: a write without data, with an immediate value.
  Status writeNothing(const IbWork& work);
  // Writes the first `bytes` of the staged entry to the same place of the other end's ring, with an immediate value.
  Status writeStaged(const IbWork& work, uint32_t bytes, uint32_t immediate);
  // Writes `data` and then the first `entryBytes` of the staged entry, in one posting. `entryBytes` may be 0. With
  // `onDevice` the CPU cannot read `data`, so even a few bytes are read by the adapter.
  Status writeData(const IbWork& work, const void* data, uint32_t dataBytes, bool onDevice, uint32_t lkey,
                   uint64_t remoteAddress, uint32_t rkey, uint32_t entryBytes);

  // Prepares flush(), which data received in GPU memory needs; see IbFlush.
  Status openFlush();
  bool flushes() const { return flush_ != nullptr; }
  Status flush(uint64_t sequence, const void* data, uint32_t bytes, uint32_t rkey);
  Status flushed(uint64_t sequence, bool* done) const { return flush_->test(sequence, done); }

  // Stops all traffic, in both directions: requests of the other end stay unanswered.
  void silence();

  // Reads the control connection and completions, and calls the listener. Reports the end of the connection only when
  // nothing more can arrive.
  Status progress(int64_t nowNanos, Listener& listener, int* work);

  std::string describe() const;
  void onEvents(uint32_t) override { notified_ = true; }

 private:
  static constexpr uint32_t kEntryBytes = 64;
  static constexpr uint32_t kRingBytes = 2 * kEntryBytes * kNetInFlight;
  static constexpr uint32_t kFlushAt = 2 * kRingBytes;  // offset of the byte into which IbFlush reads
  static size_t entryAt(uint64_t sequence, bool isCts) {
    return (sequence % kNetInFlight + (isCts ? kNetInFlight : 0)) * kEntryBytes;
  }
  struct AlignedFree {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  verbs::ConnectionInfo ownInfo() const;
  Status collect(Listener& listener, int* work);
  Status failed(const verbs::WorkCompletion& completion);
  verbs::SendRequest entryRequest(const IbWork& work, uint32_t bytes, uint32_t immediate, verbs::ScatterGather* list);

  const NetConfig& config_;
  verbs::Adapter& adapter_;
  const int peer_;
  std::unique_ptr<uint8_t, AlignedFree> memory_;
  std::unique_ptr<verbs::Region> ring_;    // registers the rings that the other end writes
  std::unique_ptr<verbs::Region> staged_;  // registers the rings that the adapter reads
  std::unique_ptr<verbs::Completions> completions_;
  std::vector<std::unique_ptr<verbs::QueuePairObject>> qps_;  // must be destroyed before completions_
  std::unique_ptr<IbFlush> flush_;  // must be destroyed before completions_; null if no data is received in GPU memory
  std::unique_ptr<NetControlConnection> control_;
  verbs::ConnectionInfo remote_;  // the other end's info; valid after join()
  EventSet* events_ = nullptr;
  uint32_t inlineBytes_ = 0;
  bool joined_ = false;
  bool armed_ = false;     // the next completion makes the descriptor readable
  bool notified_ = false;  // the descriptor has become readable
};

}  // namespace jccl
