// A reliable connected queue pair as an explicit state machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "verbs/verbs_objects.h"

namespace jccl::verbs {

// Path to the other end, which is reached by LID on InfiniBand, and by GID on RoCE or between subnets.
struct PathSettings {
  uint8_t port = 1;
  uint16_t pkeyIndex = 0;
  uint8_t gidIndex = 0;
  uint8_t trafficClass = 0;
  uint8_t serviceLevel = 0;
  uint8_t timeout = 20;    // the adapter waits 4.096 us * 2^timeout for an acknowledgement; 0: for ever
  uint8_t retryCount = 7;  // number of retransmissions, after each of which the adapter waits as long again
};

struct QueuePairShape {
  uint32_t sendRequests = 16;
  uint32_t receiveRequests = 8;
  uint32_t inlineBytes = 0;  // requested number; QueuePairObject::inlineBytes() returns the granted number
};

// The other end, as its connection information describes it.
struct RemoteEnd {
  uint32_t qpNumber = 0;
  int mtu = kMinMtu;  // MTU of the path
  uint16_t lid = 0;   // 0: the other end is reached by its GID
  Gid gid{};
  bool global = false;  // uses a global route although the other end has a LID
  uint32_t psn = 0;     // sequence number of the first packet that the other end sends
};

// The states of a queue pair, and the transitions between them:
//
//     Reset ──initialise──> Init ──connect──> ReadyToReceive ──start──> ReadyToSend
//       ^                     │                     │                       │
//       │                     └────────fail─────────┴──────────fail─────────┤
//       │                                                                   v
//       └───────────────────────────reset────────────────────────────── Error ──> (drained)
//     any ──destroy──> Destroyed
//
// Any other transition is refused with Code::Invalid and changes nothing. Every transition is logged.
class QueuePairObject {
 public:
  enum class State : uint8_t { Reset, Init, ReadyToReceive, ReadyToSend, Error, Destroyed };
  static const char* nameOf(State state);
  // Returns true if the diagram has an arrow from one state to the other.
  static bool isLegal(State from, State to);

  // Makes a queue pair in state Reset.
  static Status make(const std::shared_ptr<OpenDevice>& device, const Completions& completions,
                     const QueuePairShape& shape, std::unique_ptr<QueuePairObject>* qp);
  ~QueuePairObject() { static_cast<void>(destroy()); }
  QueuePairObject(const QueuePairObject&) = delete;
  QueuePairObject& operator=(const QueuePairObject&) = delete;

  State state() const { return state_; }
  uint32_t number() const { return number_; }
  uint32_t inlineBytes() const { return inlineBytes_; }
  // Returns the sequence number of the first packet that this end sends. It is random, so that a process that guesses
  // the numbers of queue pairs cannot forge a valid packet.
  uint32_t sendPsn() const { return sendPsn_; }
  const OpenDevice& device() const { return *device_; }

  // `access`: ibv_access_flags for what the other end may do to memory through this queue pair.
  Status initialise(const PathSettings& path, int access);
  Status connect(const RemoteEnd& remote);
  Status start();
  // Moves to Error: all posted requests complete with WR_FLUSH_ERR.
  Status fail();
  // Moves from Error to Reset, so that the queue pair can be used again, with another sendPsn().
  Status reset();
  Status destroy();

  // Notes that the adapter has moved the queue pair to Error by itself, as a failed completion shows.
  void noteFailure();

  // Requires state Init or a later one.
  Status postReceives(uint64_t id, int count);
  // Requires state ReadyToSend. `requests` is a linked list.
  Status postSends(SendRequest* requests);

  // Returns, for example, "qp=0x11 device=rxe0 state=RTS".
  std::string describe() const;

 private:
  explicit QueuePairObject(std::shared_ptr<OpenDevice> device) : device_(std::move(device)) {}
  Status require(State to) const;
  Status drawSendPsn();
  Status modify(State to, QpAttributes& attributes, int mask, const std::string& facts);
  void moved(State to, const std::string& facts);

  std::shared_ptr<OpenDevice> device_;
  QueuePair* qp_ = nullptr;
  State state_ = State::Reset;
  uint32_t number_ = 0;
  uint32_t inlineBytes_ = 0;
  uint32_t sendPsn_ = 0;
  PathSettings path_;
};

}  // namespace jccl::verbs
