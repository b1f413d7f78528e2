// Accepts data sockets and lets through those that have proven the secret.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/net_config.h"
#include "transport/net_handshake.h"
#include "transport/socket_address.h"

namespace jccl {

// Listens on one port per address. Unauthenticated peers (garbage, silence, a recorded handshake) are dropped, counted and,
// the first few, logged; at most config.maxHalfOpen clients are unproven at a time, the oldest goes first. A member whose
// handshake is lost by this simply tries again.
class SocketListener : public EventHandler {
 public:
  struct Proven {
    UniqueFd socket;
    NetIntroductionHeader who;
  };

  // Judges an introduction whose proof is right: a NetHandshakeReply code.
  class Judge {
   public:
    virtual ~Judge() = default;
    virtual uint32_t judge(const NetIntroductionHeader& who) = 0;
  };

  // What every judge checks first: does this lead to this rank, over a channel and one of `streams` streams that there are?
  static uint32_t judgeRoute(const NetConfig& config, int streams, const NetIntroductionHeader& who);

  SocketListener(const NetConfig& config, EventSet& events, Judge& judge)
      : config_(config), secret_(config.secret), events_(events), judge_(judge) {}
  ~SocketListener() override;

  Status open(const std::vector<std::string>& addresses);
  const std::vector<SocketAddress>& addresses() const { return addresses_; }

  int progress(int64_t nowNanos);
  bool next(Proven* proven);

  // Why nobody could be accepted for so long that it does not pass by itself; ok otherwise.
  Status exhausted(int64_t nowNanos) const;

  int64_t nextDeadlineNanos() const;
  uint64_t unauthenticated() const { return unauthenticated_; }
  void onEvents(uint32_t) override { acceptable_ = true; }

 private:
  struct HalfOpen : EventHandler {
    UniqueFd socket;
    NetNonce nonce{};
    int64_t deadlineNanos = 0;
    uint32_t received = 0;
    bool readable = true;
    NetIntroduction introduction;
    void onEvents(uint32_t) override { readable = true; }
  };
  using Clients = std::list<HalfOpen>;  // oldest first; nodes do not move, the event set points at them

  bool acceptAll(int listener, int64_t nowNanos, int* work);  // false: somebody waits who cannot be accepted
  void noteRefusal(int64_t nowNanos, int error);
  bool challenge(HalfOpen& client);
  bool advance(HalfOpen& client, int* work);  // true: done with
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
  Status refusal_;  // of the last attempt to accept
  int64_t refusedSinceNanos_ = 0;
  int64_t warnAgainNanos_ = 0;
  uint64_t unauthenticated_ = 0;
};

}  // namespace jccl
