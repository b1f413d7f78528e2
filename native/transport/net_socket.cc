#include "transport/net_socket.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "transport/socket_connection.h"
#include "transport/socket_devices.h"
#include "transport/socket_listener.h"

namespace jccl {
namespace {

// Assembles authenticated streams into connections. A connection is complete when all its streams have arrived.
class SocketNetListener final : public NetListener, private SocketListener::Judge {
 public:
  SocketNetListener(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents,
                    std::shared_ptr<IoThreadPool> pool, std::shared_ptr<SocketEagerPaths> eagerPaths)
      : config_(config),
        dataEvents_(dataEvents),
        pool_(std::move(pool)),
        eagerPaths_(std::move(eagerPaths)),
        sockets_(config, controlEvents, *this) {}

  Status open(const std::vector<std::string>& addresses) {
    if (Status opened = sockets_.open(addresses); !opened) return opened;
    info_ = encodeAddresses(sockets_.addresses());
    return Status::ok();
  }

  const std::vector<SocketAddress>& addresses() const { return sockets_.addresses(); }
  const std::vector<uint8_t>& info() const override { return info_; }
  int progress(int64_t nowNanos) override { return sockets_.progress(nowNanos); }
  int64_t nextDeadlineNanos() const override { return sockets_.nextDeadlineNanos(); }

  Status accept(NetRoute* route, std::unique_ptr<NetRecvConnection>* connection) override {
    SocketListener::Proven proven;
    while (sockets_.next(&proven)) {
      Streams& streams = incoming_[{proven.who.from, proven.who.channel}];
      // the connection is complete; this stream is from an attempt that the dialer gave up
      if (streams.accepted) continue;
      // A stream that arrives again replaces the first one, which its dialer has given up.
      streams.sockets.resize(proven.who.streams);
      streams.sockets[proven.who.stream] = std::move(proven.socket);
      const bool whole = std::all_of(streams.sockets.begin(), streams.sockets.end(),
                                     [](const DataSocket& socket) { return !!socket; });
      if (!whole) continue;
      streams.accepted = true;
      *route = {proven.who.communicator, proven.who.from, proven.who.to, proven.who.channel};
      auto made = std::make_unique<SocketRecvConnection>(config_, proven.who.from, dataEvents_, pool_,
                                                         std::move(streams.sockets),
                                                         eagerPaths_->of(proven.who.from, proven.who.channel));
      streams.sockets.clear();
      if (Status opened = made->open(); !opened) return opened;
      *connection = std::move(made);
      return Status::ok();
    }
    return sockets_.exhausted(monotonicNanos());
  }

 private:
  struct Streams {
    std::vector<DataSocket> sockets;
    bool accepted = false;
  };

  uint32_t judge(const NetIntroductionHeader& who) override {
    const uint32_t route = SocketListener::judgeRoute(config_, config_.streams, who);
    if (route != NetHandshakeReply::kWelcome) return route;
    return incoming_[{who.from, who.channel}].accepted ? NetHandshakeReply::kAlreadyConnected
                                                       : NetHandshakeReply::kWelcome;
  }

  const NetConfig& config_;
  EventSet& dataEvents_;
  const std::shared_ptr<IoThreadPool> pool_;
  const std::shared_ptr<SocketEagerPaths> eagerPaths_;
  SocketListener sockets_;
  std::vector<uint8_t> info_;
  std::map<std::pair<int, int>, Streams> incoming_;  // by (from, channel)
};

// TCP needs no registration; the object only shows that one was requested.
class SocketMemory final : public NetMemory {};

}  // namespace

SocketNet::SocketNet(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents)
    : config_(config),
      controlEvents_(controlEvents),
      dataEvents_(dataEvents),
      eagerPaths_(std::make_shared<SocketEagerPaths>()),
      devices_(socketDevices()) {}

Status SocketNet::start() {
  if (config_.threads > 1) pool_ = IoThreadPool::create("jccl-sock", config_.threads - 1);
  return Status::ok();
}

Status SocketNet::listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) {
  if (addresses.empty() || addresses.size() > 16) {
    return Status::invalid("net: addresses=" + std::to_string(addresses.size()) + ", expected 1 to 16");
  }
  auto made = std::make_unique<SocketNetListener>(config_, controlEvents_, dataEvents_, pool_, eagerPaths_);
  if (Status opened = made->open(addresses); !opened) return opened;
  local_ = made->addresses();
  *listener = std::move(made);
  return Status::ok();
}

void SocketNet::setPaths(const NetPaths& paths) {
  paths_ = paths;
  const std::string missing = missingText(paths, devicesOf(local_));
  if (!missing.empty()) {
    logMessage(LogLevel::Info, "net",
               "sockets: " + missing + " (name interfaces in JCCL_SOCKET_IFNAME to use several)");
  }
}

Status SocketNet::reachable(std::span<const uint8_t> listenerInfo) const {
  std::vector<SocketDialer::Pair> pairs;
  return SocketDialer::pairAddresses(local_, listenerInfo, {}, &pairs);
}

Status SocketNet::connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                          std::unique_ptr<NetSendConnection>* connection) {
  std::vector<std::vector<SocketDialer::Pair>> perStream(static_cast<size_t>(config_.streams));
  SocketDialer::Beginning beginning{paths_.sending(route.to, route.channel), static_cast<size_t>(route.channel), 0};
  for (std::vector<SocketDialer::Pair>& pairs : perStream) {
    if (Status paired = SocketDialer::pairAddresses(local_, listenerInfo, beginning, &pairs); !paired) return paired;
    ++beginning.stream;
  }
  const SocketAddress& source = perStream.front().front().local;
  const bool found = beginning.ends.local >= 0 && source.device() == beginning.ends.local;
  logMessage(LogLevel::Debug, "net",
             "channel=" + std::to_string(route.channel) + " to_rank=" + std::to_string(route.to) + " from " +
                 source.toString() + " (" + reasonOf(beginning.ends, found) + ")");
  *connection = std::make_unique<SocketSendConnection>(config_, route, controlEvents_, dataEvents_, pool_,
                                                       std::move(perStream), eagerPaths_->of(route.to, route.channel));
  return Status::ok();
}

Status SocketNet::registerMemory(void*, size_t, NetAccess, std::unique_ptr<NetMemory>* memory) {
  *memory = std::make_unique<SocketMemory>();
  return Status::ok();
}

}  // namespace jccl
