// Fuzz target: messages to the listener of data sockets, before and after the proof of the secret, and the addresses
// that a rank publishes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "test/net_pair.h"
#include "transport/socket_dialer.h"
#include "transport/socket_listener.h"

namespace jccl::fuzz {

class AcceptingJudge : public SocketListener::Judge {
 public:
  explicit AcceptingJudge(const NetConfig& config) : config_(config) {}
  uint32_t judge(const NetIntroductionHeader& who) override {
    return SocketListener::judgeRoute(config_, config_.streams, who);
  }

 private:
  const NetConfig& config_;
};

// A listener that lives as long as the process. Its clock advances only when an input says so.
struct ListeningRank {
  ListeningRank() : config(test::configOf(0, 4)), judge(config) {
    config.handshakeTimeoutNanos = 1'000'000'000;
    config.maxHalfOpen = 4;
    if (!events.open()) std::abort();
    listener = std::make_unique<SocketListener>(config, events, judge);
    if (!listener->open({"127.0.0.1"})) std::abort();
  }

  void step() {
    events.dispatch();
    listener->progress(now);
  }

  NetConfig config;
  AcceptingJudge judge;
  EventSet events;
  std::unique_ptr<SocketListener> listener;
  int64_t now = 1'000'000'000'000;
};

// Connects from loopback addresses in turn: each address has few ports, and the kernel may keep a closed port for a
// minute. A port closed by a reset is free at once.
inline UniqueFd connectPeer(const SocketAddress& to) {
  constexpr uint32_t kAddresses = 200;
  static uint32_t made = 0;
  for (uint32_t tried = 0; tried < kAddresses; ++tried) {
    UniqueFd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + made++ % kAddresses);
    if (::bind(peer.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) continue;
    if (::connect(peer.get(), to.get(), to.bytes()) != 0) continue;
    const linger reset{1, 0};
    ::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return peer;
  }
  std::perror("no address has a port left");
  std::abort();
}

inline void toListener(const uint8_t* data, size_t size, bool proves) {
  static ListeningRank rank;
  UniqueFd peer = connectPeer(rank.listener->addresses().front());
  NetChallenge challenge;
  for (int i = 0; i < 1000 && ::recv(peer.get(), &challenge, sizeof challenge, MSG_DONTWAIT | MSG_PEEK) < 24; ++i) {
    rank.step();
  }
  ::recv(peer.get(), &challenge, sizeof challenge, MSG_DONTWAIT);
  if (proves) {  // this peer is a member of the job, which may introduce itself as anything
    NetIntroduction introduction;
    std::memcpy(&introduction.header, data, std::min(size, sizeof introduction.header));
    introduction.proof = NetSecret(rank.config.secret).proveConnector(challenge.nonce, introduction.header);
    ::send(peer.get(), &introduction, sizeof introduction, MSG_NOSIGNAL);
    size -= std::min(size, sizeof introduction.header);
    data += sizeof introduction.header;
  }
  if (size > 0) ::send(peer.get(), data, size, MSG_NOSIGNAL);
  for (int i = 0; i < 3; ++i) rank.step();
  SocketListener::Proven proven;
  while (rank.listener->next(&proven)) {
    const NetIntroductionHeader& who = proven.who;
    if (!proves || who.to != 0 || who.from < 0 || who.from >= 4 || who.channel < 0 || who.channel >= 4) std::abort();
  }
  peer.reset();
  rank.now += 400'000'000;
  rank.step();
}

inline void publishedAddresses(const uint8_t* data, size_t size) {
  std::vector<SocketAddress> addresses;
  if (!decodeAddresses(data, size, &addresses)) return;
  const std::vector<uint8_t> again = encodeAddresses(addresses);
  std::vector<SocketAddress> read;
  if (!decodeAddresses(again.data(), again.size(), &read) || read.size() != addresses.size()) std::abort();
  SocketAddress local;
  if (!SocketAddress::parse("127.0.0.1", 0, &local)) std::abort();
  std::vector<SocketDialer::Pair> pairs;
  (void)SocketDialer::pairAddresses({local}, std::span(data, size), {}, &pairs);
}

// The first byte selects how the other bytes are used.
inline void handshake(const uint8_t* data, size_t size) {
  if (size == 0) return;
  switch (data[0] % 3) {
    case 0:
      return toListener(data + 1, size - 1, false);
    case 1:
      return toListener(data + 1, size - 1, true);
    default:
      return publishedAddresses(data + 1, size - 1);
  }
}

}  // namespace jccl::fuzz
