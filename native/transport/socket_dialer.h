// Makes one authenticated data socket to a listener.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "transport/data_socket.h"
#include "transport/event_set.h"
#include "transport/net_config.h"
#include "transport/net_handshake.h"
#include "transport/socket_address.h"

namespace jccl {

// A state machine, driven by progress(). It tries the pairs of local and remote addresses one after the other, with
// growing pauses, until a pair leads to an authenticated connection, the listener refuses, or the time is up.
//
//     Waiting ──> Connecting ──> Challenged ──> Introducing ──> Proved ──> Done
//        ^             └──────────────┴──── (lost) ──┴─────────────┘
//        └───────────────────────────────────┘
class SocketDialer : public EventHandler {
 public:
  struct Pair {
    SocketAddress local;  // the source address, with any port
    SocketAddress remote;
  };

  // Determines the first pair: the addresses of the devices in `ends`, or the pair at index `rotation` if those devices
  // have no address. Each further stream of a connection begins at the next pair, so that several interfaces share the
  // load.
  struct Beginning {
    NetPaths::Ends ends;
    size_t rotation = 0;
    size_t stream = 0;
  };

  // Finds all pairs of a local address and an address of the same family that a listener published with
  // encodeAddresses(). The family of the listener's first address comes first. Fails if there is no pair.
  static Status pairAddresses(const std::vector<SocketAddress>& local, std::span<const uint8_t> published,
                              const Beginning& beginning, std::vector<Pair>* pairs);

  // `who` needs no nonce: each attempt makes a new one.
  SocketDialer(const NetConfig& config, EventSet& events, const NetIntroductionHeader& who, std::vector<Pair> pairs);
  ~SocketDialer() override { hangUp(); }

  Status progress(int64_t nowNanos, int* work);
  bool done() const { return state_ == State::Done; }
  DataSocket take() { return {std::move(socket_), std::move(records_)}; }
  int64_t nextDeadlineNanos() const;
  std::string describe() const;
  void onEvents(uint32_t) override { ready_ = true; }

 private:
  enum class State : uint8_t { Waiting, Connecting, Challenged, Introducing, Proved, Done };

  bool step(int64_t nowNanos);  // returns false if there is nothing to do now
  void dial(int64_t nowNanos);
  bool finishConnect(int64_t nowNanos);
  template <typename T>
  bool receive(T* message, int64_t nowNanos);
  Status prepareIntroduction();
  bool introduce(int64_t nowNanos);
  Status readReply();
  void conclude();
  void lose(int64_t nowNanos, const std::string& why);
  void loseHere(int64_t nowNanos, const Status& why);
  void hangUp();

  const NetConfig& config_;
  const NetSecret secret_;
  EventSet& events_;
  const std::vector<Pair> pairs_;
  NetIntroduction introduction_;
  NetChallenge challenge_;
  NetHandshakeReply reply_;
  std::unique_ptr<crypto::Handshake> handshake_;  // null unless an encrypted attempt has begun
  EncryptedIntroduction encryptedIntroduction_;
  EncryptedReply encryptedReply_;
  std::unique_ptr<crypto::Records> records_;

  State state_ = State::Waiting;
  UniqueFd socket_;
  size_t moved_ = 0;  // bytes of the current message that have been sent or received so far
  bool ready_ = true;
  size_t attempts_ = 0;
  int64_t startedNanos_ = -1;
  int64_t nextAttemptNanos_ = 0;
  int64_t attemptEndsNanos_ = INT64_MAX;
  // time at which attempts began to fail for lack of resources of this host; -1: they do not fail for this reason
  int64_t exhaustedSinceNanos_ = -1;
  std::string lastLoss_ = "not tried yet";
  Status refusal_;
};

}  // namespace jccl
