// Accepts data sockets and passes on those whose peers have proved the secret.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "transport/data_socket.h"
#include "transport/event_set.h"
#include "transport/net_config.h"
#include "transport/net_handshake.h"
#include "transport/socket_address.h"

namespace jccl {

// Listens on one port per address. Unauthenticated peers (garbage, silence, a recorded handshake) are dropped and
// counted, and the first few are logged. At most config.maxHalfOpen clients are unauthenticated at a time; beyond that,
// the oldest is dropped. A rank whose handshake is dropped in this way tries again.
class SocketListener : public EventHandler {
 public:
  struct Proven {
    DataSocket socket;
    NetIntroductionHeader who;
  };

  // Judges an introduction whose proof is right. judge() returns a NetHandshakeReply code.
  class Judge {
   public:
    virtual ~Judge() = default;
    virtual uint32_t judge(const NetIntroductionHeader& who) = 0;
  };

  // The check that every judge begins with: the introduction must be meant for this rank and communicator, over an
  // existing channel and one of `streams` streams.
  static uint32_t judgeRoute(const NetConfig& config, int streams, const NetIntroductionHeader& who);

  SocketListener(const NetConfig& config, EventSet& events, Judge& judge)
      : config_(config), secret_(config.secret), events_(events), judge_(judge) {}
  ~SocketListener() override;

  Status open(const std::vector<std::string>& addresses);
  const std::vector<SocketAddress>& addresses() const { return addresses_; }

  int progress(int64_t nowNanos);
  bool next(Proven* proven);

  // Returns the error if accepting has failed for so long that waiting does not help; otherwise ok.
  Status exhausted(int64_t nowNanos) const;

  int64_t nextDeadlineNanos() const;
  uint64_t unauthenticated() const { return unauthenticated_; }
  void onEvents(uint32_t) override { acceptable_ = true; }

 private:
  struct HalfOpen : EventHandler {
    UniqueFd socket;
    NetChallenge challenge;
    int64_t deadlineNanos = 0;
    uint32_t received = 0;
    bool readable = true;
    NetIntroduction introduction;
    EncryptedIntroduction encrypted;  // received instead of `introduction` if connections are encrypted
    std::unique_ptr<crypto::Handshake> handshake;
    void onEvents(uint32_t) override { readable = true; }
  };
  using Clients = std::list<HalfOpen>;  // oldest first; a list, since the event set points at its nodes

  // returns false if a connection waits and cannot be accepted
  bool acceptAll(int listener, int64_t nowNanos, int* work);
  void noteRefusal(int64_t nowNanos, int error);
  bool challenge(HalfOpen& client);
  bool advance(HalfOpen& client, int* work);  // returns true if the client is finished
  bool believes(HalfOpen& client) const;
  bool answer(HalfOpen& client, uint32_t code, DataSocket* socket);
  void judgeAndAnswer(HalfOpen& client);
  void drop(int socket, const char* why);
  Clients::iterator forget(Clients::iterator client);

  const NetConfig& config_;
  const NetSecret secret_;
  EventSet& events_;
  Judge& judge_;
  std::vector<UniqueFd> listeners_;
  std::vector<SocketAddress> addresses_;
  Clients clients_;
  std::deque<Proven> proven_;
  bool acceptable_ = true;
  int64_t acceptAgainNanos_ = INT64_MAX;
  Status refusal_;  // error of the last attempt to accept
  int64_t refusedSinceNanos_ = 0;
  int64_t warnAgainNanos_ = 0;
  uint64_t unauthenticated_ = 0;
};

}  // namespace jccl
