#include "transport/net_transport.h"

#include <algorithm>

#include "base/clock.h"
#include "base/limited_run.h"
#include "base/log.h"
#include "transport/net_socket.h"

namespace jccl {
namespace {

constexpr int kMaxStreams = 64;
// Longest sleep of a thread between two polls of a network without events.
constexpr int64_t kPollNanos = 20'000;
// Limit of the wait for peers in drain(): usually all ranks close at about the same time.
constexpr int64_t kDrainNanos = 500'000'000;
// Sleep between two checks of pollUntil(). The engine's thread serves handshakes, and does not wake threads that wait
// for the end of a handshake.
constexpr int64_t kWaitSleepNanos = 1'000'000;

Status makeSockets(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents, std::unique_ptr<Net>* net) {
  auto made = std::make_unique<SocketNet>(config, controlEvents, dataEvents);
  if (Status started = made->start(); !started) return started;
  *net = std::move(made);
  return Status::ok();
}

}  // namespace

Status NetTransport::create(const NetConfig& config, std::unique_ptr<NetTransport>* transport, const NetMaker& maker) {
  if (config.size < 1 || config.rank < 0 || config.rank >= config.size || config.channels < 1 || config.streams < 1 ||
      config.streams > kMaxStreams || config.secret.size() < 16) {
    return Status::invalid("net: rank=" + std::to_string(config.rank) + " size=" + std::to_string(config.size) +
                           " channels=" + std::to_string(config.channels) + " streams=" +
                           std::to_string(config.streams) + " secret_bytes=" + std::to_string(config.secret.size()) +
                           ", expected rank < size, channels >= 1, streams 1 to " + std::to_string(kMaxStreams) +
                           ", a secret of at least 16 bytes");
  }
  std::unique_ptr<NetTransport> made(new NetTransport(config));
  if (Status started = made->engine_.start(); !started) return started;
  NetProgressEngine& engine = made->engine_;
  Status networked = maker ? maker(made->config_, engine.controlEvents(), engine.dataEvents(), &made->net_)
                           : makeSockets(made->config_, engine.controlEvents(), engine.dataEvents(), &made->net_);
  if (!networked) return networked;
  if (!made->net_->hasEvents()) engine.pollWithin(kPollNanos);
  if (CallWatch* watch = made->net_->watch(); watch != nullptr) {
    engine.serveByThread(*watch, config.peerTimeoutNanos);
    made->mayBlock_ = true;
  }
  *transport = std::move(made);
  return Status::ok();
}

NetTransport::~NetTransport() { close(0); }

void NetTransport::end(NetTransport* transport) {
  transport->close(0);
  if (transport->isStuck()) {
    leaveBehind(transport);
    return;
  }
  delete transport;
}

void NetTransport::run(const std::function<void()>& task) {
  engine_.run(task);
  isStuck();
}

bool NetTransport::isStuck() {
  if (!mayBlock_ || !engine_.isStuck()) return false;
  if (!errors_.isSet()) errors_.set(net_->watch()->error(), -1);
  return true;
}

int NetTransport::poll() {
  const int work = engine_.poll();
  isStuck();
  return work;
}

Status NetTransport::listen(const std::vector<std::string>& addresses, std::vector<uint8_t>* info) {
  if (listener_ != nullptr) return Status::invalid("net: listening already");
  {
    Status listening = Status::transport("net: the network is stuck");
    run([&] { listening = net_->listen(addresses, &listener_); });
    if (!listening) return listening;
  }
  *info = listener_->info();
  engine_.addControl(&acceptor_);
  return Status::ok();
}

Status NetTransport::probe(std::span<const uint8_t> info) const { return net_->reachable(info); }

void NetTransport::setPaths(const std::vector<NetPath>& paths) {
  run([&] { net_->setPaths(NetPaths(config_.rank, paths)); });
}

Status NetTransport::addPeer(int peer, std::span<const uint8_t> info) {
  if (Status known = checkKey(peer, 0); !known) return known;
  if (Status reachable = net_->reachable(info); !reachable) return reachable;
  run([&] { peers_[peer].assign(info.begin(), info.end()); });
  return Status::ok();
}

Status NetTransport::setDeviceMemory(const NetDeviceMemory& memory, const std::set<int>& adapters) {
  return reachDeviceMemory(memory, adapters, &deviceMemory_);
}

Status NetTransport::reachDeviceMemory(const NetDeviceMemory& memory, const std::set<int>& adapters,
                                       std::unique_ptr<NetMemory>* reached) {
  Status registered = Status::transport("net: the network is stuck");
  run([&] { registered = net_->registerDeviceMemory(memory, adapters, reached); });
  return registered;
}

Status NetTransport::checkKey(int peer, int channel) const {
  if (peer >= 0 && peer < config_.size && peer != config_.rank && channel >= 0 && channel < config_.channels) {
    return Status::ok();
  }
  return Status::invalid("net: peer=" + std::to_string(peer) + " channel=" + std::to_string(channel) +
                         " rank=" + std::to_string(config_.rank) + " size=" + std::to_string(config_.size) +
                         " channels=" + std::to_string(config_.channels) + ": no such connection");
}

SendProxy::Dial NetTransport::dial(NetRoute route, const ConnectionMemory& memory) {
  return [this, route, memory](std::unique_ptr<NetSendConnection>* connection, std::unique_ptr<NetMemory>* registered) {
    engine_.wakeThread();  // the engine's thread serves the handshake
    if (net_->needsRegisteredMemory()) {
      Status done = net_->registerMemory(memory.block, memory.shape.blockBytes(), NetAccess::Read, registered);
      if (!done) return done;
    }
    return net_->connect(route, peers_.at(route.to), connection);
  };
}

Status NetTransport::forward(int from, int peer, int channel, int adapter, const ConnectionMemory& memory,
                             NetMemory* slots, bool ahead) {
  for (const int end : {from, peer}) {
    if (Status valid = checkKey(end, channel); !valid) return valid;
  }
  if (peers_.find(peer) == peers_.end())
    return Status::invalid("net: peer=" + std::to_string(peer) + ": addPeer first");
  const NetRoute route = {config_.communicator, from, peer, channel, adapter};
  forwards_.push_back(
      std::make_unique<SendProxy>(memory, peer, channel, dial(route, memory), userMemory_, slots, errors_));
  if (ahead) forwards_.back()->dialAhead();
  engine_.addData(forwards_.back().get());
  return Status::ok();
}

uint64_t NetTransport::forwardedBytes() {
  uint64_t bytes = 0;
  run([&] {
    for (const auto& forward : forwards_) bytes += forward->bytes();
  });
  return bytes;
}

Status NetTransport::sendConnection(int peer, int channel, const ConnectionMemory& memory, FirstUse** firstUse) {
  if (Status valid = checkKey(peer, channel); !valid) return valid;
  if (peers_.find(peer) == peers_.end())
    return Status::invalid("net: peer=" + std::to_string(peer) + ": addPeer first");
  if (senders_.count({peer, channel}) != 0) return Status::invalid("net: the send connection exists already");
  const NetRoute route = {config_.communicator, config_.rank, peer, channel};
  auto proxy = std::make_unique<SendProxy>(memory, peer, channel, dial(route, memory), userMemory_, deviceMemory_.get(),
                                           errors_);
  SendProxy* callback = proxy.get();
  bool isKept = false;
  run([&] {  // an operation that fails now reads the senders
    senders_[{peer, channel}] = std::move(proxy);
    isKept = true;
  });
  if (!isKept) return Status::transport("net: the network is stuck");
  if (firstUse != nullptr) {
    *firstUse = engine_.addDormant(callback);
    dormant_[{peer, channel}] = *firstUse;
  } else {
    engine_.addData(callback);
  }
  return Status::ok();
}

Status NetTransport::recvConnection(int peer, int channel, const ConnectionMemory& memory) {
  if (Status valid = checkKey(peer, channel); !valid) return valid;
  auto proxy = std::make_unique<RecvProxy>(memory, peer, channel, userMemory_, deviceMemory_.get(), errors_);
  Status added;
  run([&] {
    if (receivers_.count({peer, channel}) != 0) {
      added = Status::invalid("net: the receive connection exists already");
      return;
    }
    if (const auto early = early_.find({peer, channel}); early != early_.end()) {
      attach(*proxy, std::move(early->second));
      early_.erase(early);
    }
    receivers_[{peer, channel}] = std::move(proxy);
  });
  return added;
}

// The engine polls the receiver only after this call, because a receiver without a network connection has nothing to
// poll.
void NetTransport::attach(RecvProxy& receiver, std::unique_ptr<NetRecvConnection> connection) {
  receiver.attach(std::move(connection), *net_);
  engine_.addDataLocked(&receiver);
}

Status NetTransport::exposeLocked(int peer, int channel, void* address, size_t bytes, NetExposed* exposed,
                                  uint64_t* number) {
  const auto receiver = receivers_.find({peer, channel});
  if (receiver == receivers_.end()) return Status::invalid("net: recvConnection first");
  std::unique_ptr<NetMemory> memory;
  if (Status made = net_->registerMemory(address, bytes, NetAccess::Write, &memory); !made) return made;
  if (memory == nullptr) return Status::transport("net: this network registers no memory");
  if (Status allowed = receiver->second->expose(*memory, &exposed->key); !allowed) return allowed;
  exposed->address = reinterpret_cast<uintptr_t>(address);
  *number = nextExposed_++;
  exposed_[*number] = std::move(memory);
  return Status::ok();
}

void NetTransport::withdraw(uint64_t number) {
  run([&] { exposed_.erase(number); });
}

void NetTransport::addCallback(std::shared_ptr<ProgressCallback> callback) {
  engine_.addData(callback.get());
  kept_.push_back(std::move(callback));
}

bool NetTransport::pollUntil(const std::function<bool()>& done, int64_t deadlineNanos) {
  while (!failed() && !done()) {
    if (monotonicNanos() >= deadlineNanos) return false;
    if (poll() == 0) engine_.waitForEvents(kWaitSleepNanos);
  }
  return true;
}

Status NetTransport::connectAhead(const std::vector<std::pair<int, int>>& connections) {
  std::vector<SendProxy*> senders;
  for (const Key& key : connections) {
    const auto sender = senders_.find(key);
    if (sender == senders_.end()) {
      return Status::invalid("net: peer=" + std::to_string(key.first) + " channel=" + std::to_string(key.second) +
                             ": sendConnection first");
    }
    senders.push_back(sender->second.get());
    if (const auto dormant = dormant_.find(key); dormant != dormant_.end()) dormant->second->noteFirstUse();
  }
  run([&] {
    for (SendProxy* sender : senders) sender->dialAhead();
    for (const auto& forward : forwards_) {
      if (forward->dialsAhead()) senders.push_back(forward.get());
    }
  });
  // Latest deadline: each connection fails at its own deadline, which is earlier.
  const int64_t deadline = monotonicNanos() + config_.connectTimeoutNanos + config_.handshakeTimeoutNanos;
  const auto allConnected = [&] {
    bool all = false;
    run([&] {
      all = std::all_of(senders.begin(), senders.end(), [](const SendProxy* sender) { return sender->connected(); });
    });
    return all;
  };
  if (!pollUntil(allConnected, deadline)) return Status::transport("net: not all connections were made in time");
  int peer = -1;
  return failed() ? error(&peer) : Status::ok();
}

int NetTransport::Acceptor::poll(int64_t nowNanos) {
  int work = owner_.listener_->progress(nowNanos);
  for (;;) {
    NetRoute route;
    std::unique_ptr<NetRecvConnection> connection;
    if (Status accepted = owner_.listener_->accept(&route, &connection); !accepted) {
      owner_.errors_.set(accepted, route.from);
      return work + 1;
    }
    if (connection == nullptr) return work;
    ++work;
    const Key key = {route.from, route.channel};
    const auto receiver = owner_.receivers_.find(key);
    if (receiver != owner_.receivers_.end()) {
      owner_.attach(*receiver->second, std::move(connection));
    } else {
      owner_.early_[key] = std::move(connection);
    }
  }
}

int64_t NetTransport::Acceptor::nextDeadlineNanos() const { return owner_.listener_->nextDeadlineNanos(); }

void NetTransport::addUserMemory(const void* address, size_t bytes, bool written) {
  if (!net_->needsRegisteredMemory()) return;
  const NetAccess access = written ? NetAccess::Write : NetAccess::Read;
  engine_.post([this, address, bytes, access] {
    std::shared_ptr<NetMemory> memory = userMemory_.kept(address, bytes);
    if (memory == nullptr) {
      std::unique_ptr<NetMemory> made;
      // If the memory cannot be registered, its data is copied.
      if (!net_->registerMemory(const_cast<void*>(address), bytes, access, &made)) return;
      memory = std::move(made);
    }
    userMemory_.add(address, bytes, access, std::move(memory));
  });
}

uint64_t NetTransport::keepUserMemory(void* address, size_t bytes, std::function<bool()> hasItsPages) {
  if (!net_->needsRegisteredMemory()) return 0;
  uint64_t number = 0;
  run([&] {
    std::unique_ptr<NetMemory> memory;
    if (!net_->registerMemory(address, bytes, NetAccess::Write, &memory)) return;
    number = userMemory_.keep(address, bytes, std::move(memory), std::move(hasItsPages));
  });
  return number;
}

void NetTransport::dropUserMemory(uint64_t number) {
  run([&] { userMemory_.drop(number); });
}

void NetTransport::clearUserMemory() {
  if (!net_->needsRegisteredMemory()) return;
  run([&] { userMemory_.clear(); });
}

void NetTransport::revoke() {
  run([&] {
    for (const auto& [key, sender] : senders_) sender->revoke();
    for (const auto& [key, receiver] : receivers_) receiver->revoke();
  });
  if (!isStuck()) return;
  int peer = -1;
  logMessage(
      LogLevel::Error, "net",
      "memory of the failed operation may still be read or written, do not use it again: " + error(&peer).message());
}

template <class Each>
void NetTransport::forConnections(Each&& each) {
  for (const auto& [key, sender] : senders_) each(*sender);
  for (const auto& forward : forwards_) each(*forward);
  for (const auto& [key, receiver] : receivers_) each(*receiver);
  for (const auto& [key, early] : early_) each(*early);
}

void NetTransport::drain(int64_t deadlineNanos) {
  run([&] { forConnections([](auto& connection) { connection.drain(); }); });
  const auto allDrained = [&] {
    bool all = true;
    run([&] { forConnections([&](const auto& connection) { all = all && connection.drained(); }); });
    return all;
  };
  pollUntil(allDrained, deadlineNanos);
}

void NetTransport::close(int64_t flushNanos) {
  if (closed_) return;
  closed_ = true;
  if (flushNanos > 0) pollUntil([&] { return !engine_.pending(); }, monotonicNanos() + flushNanos);
  if (flushNanos > 0 && !failed()) drain(monotonicNanos() + std::min(flushNanos, kDrainNanos));
  engine_.stop([&] {
    forConnections([](auto& connection) { connection.close(); });
    early_.clear();
    listener_.reset();
    userMemory_ = {};
    exposed_.clear();
    if (net_ != nullptr) net_->close();
  });
  if (!isStuck()) return;
  int peer = -1;
  logMessage(LogLevel::Error, "net", "left behind: " + error(&peer).message());
  // Informs the peers, so that they do not wait for this rank.
  for (const auto& [key, sender] : senders_) sender->abandon();
  for (const auto& [key, receiver] : receivers_) receiver->abandon();
}

}  // namespace jccl
