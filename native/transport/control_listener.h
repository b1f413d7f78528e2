// Listener of networks whose data does not travel over TCP. Each of their connections also has a TCP connection for
// control.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/net.h"
#include "transport/socket_listener.h"

namespace jccl {

class ControlListener final : public NetListener, private SocketListener::Judge {
 public:
  // Makes the receiving end of a connection whose TCP connection is authenticated.
  using Accept = std::function<Status(const NetIntroductionHeader& who, DataSocket socket,
                                      std::unique_ptr<NetRecvConnection>* connection)>;

  ControlListener(const NetConfig& config, EventSet& controlEvents, Accept accept)
      : config_(config), accept_(std::move(accept)), sockets_(config, controlEvents, *this) {}

  // Publishes `header`, followed by the addresses of the sockets.
  Status open(const std::vector<std::string>& addresses, std::span<const uint8_t> header) {
    if (Status opened = sockets_.open(addresses); !opened) return opened;
    info_.assign(header.begin(), header.end());
    const std::vector<uint8_t> encoded = encodeAddresses(sockets_.addresses());
    info_.insert(info_.end(), encoded.begin(), encoded.end());
    return Status::ok();
  }

  const std::vector<SocketAddress>& addresses() const { return sockets_.addresses(); }
  const std::vector<uint8_t>& info() const override { return info_; }
  int progress(int64_t nowNanos) override { return sockets_.progress(nowNanos); }
  int64_t nextDeadlineNanos() const override { return sockets_.nextDeadlineNanos(); }

  Status accept(NetRoute* route, std::unique_ptr<NetRecvConnection>* connection) override {
    SocketListener::Proven proven;
    while (sockets_.next(&proven)) {
      const NetIntroductionHeader& who = proven.who;
      if (!accepted_.insert({who.from, who.channel}).second) continue;
      *route = {who.communicator, who.from, who.to, who.channel};
      return accept_(who, std::move(proven.socket), connection);
    }
    return Status::ok();
  }

 private:
  uint32_t judge(const NetIntroductionHeader& who) override {
    const uint32_t route = SocketListener::judgeRoute(config_, 1, who);
    if (route != NetHandshakeReply::kWelcome) return route;
    return accepted_.count({who.from, who.channel}) != 0 ? NetHandshakeReply::kAlreadyConnected
                                                         : NetHandshakeReply::kWelcome;
  }

  const NetConfig& config_;
  const Accept accept_;
  SocketListener sockets_;
  std::vector<uint8_t> info_;
  std::set<std::pair<int, int>> accepted_;  // by (from, channel)
};

}  // namespace jccl
