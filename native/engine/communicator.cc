#include "engine/communicator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/plan_arguments.h"
#include "primitives/exchange_shape.h"

namespace jccl {
Status Communicator::create(const CommunicatorConfig& config, std::unique_ptr<Communicator>& communicator) {
  auto error = std::make_unique<LastError>();
  std::unique_ptr<SharedMemory> memory;
  if (Status status = SharedMemory::create(config.engine, *error, &memory); !status) return status;
  communicator.reset(new Communicator(config, std::move(error), std::move(memory)));
  return Status::ok();
}

Communicator::Communicator(const CommunicatorConfig& config, std::unique_ptr<LastError> error,
                           std::unique_ptr<SharedMemory> memory)
    : config_(config),
      error_(std::move(error)),
      shared_(std::move(memory)),
      slots_(Engine::segmentShape(config.engine).connection),
      engine_(config.engine, shared_->segment().address()),
      net_(engine_, [this] { return this->memory(); }),
      released_{attachments_} {
  engine_.setBufferResolver(shared_.get());
  engine_.setSlotMemory(&shared_->segment());
  shared_->offer();
}

NetConfig Communicator::netConfig() const {
  NetConfig net;
  net.rank = config_.engine.rank;
  net.size = config_.engine.size;
  net.channels = config_.engine.channels + 2;  // the last ones are for windows and messages
  std::memcpy(net.communicator.data(), config_.engine.token, net.communicator.size());
  net.secret = config_.secret;
  net.streams = std::max(config_.streamsPerConnection, 1);
  net.threads = std::max(config_.socketThreads, 1);
  net.ib = config_.ib;
  net.plugin = config_.plugin;
  net.devices = config_.netDevices;
  net.looksAtMemory = looksAtMemory_;
  net.sharesCores = SpinPolicy::isOversubscribed(config_.engine.sharing(), config_.engine.shared());
  if (config_.connectTimeoutNanos > 0) net.connectTimeoutNanos = config_.connectTimeoutNanos;
  if (config_.peerTimeoutNanos > 0) net.peerTimeoutNanos = config_.peerTimeoutNanos;
  return net;
}

Status Communicator::connectInfo(const std::vector<std::string>& addresses, std::vector<uint8_t>& info) {
  if (!addresses.empty() && !networks_.isOpen()) {
    const Networks::Offer offer = {config_.makeNet, config_.usesIb, !config_.plugin.empty()};
    NetConfig net = netConfig();
    if (config_.encrypts) {
      if (Status status = crypto::Library::open(&net.crypto); !status) return status;
    }
    if (Status status = networks_.open(net, offer, addresses); !status) return status;
  }
  ConnectInfo own{shared_->registry().process(), shared_->id(), 0, {}};
  for (const auto& attached : attachments_) {
    if (const uint64_t number = attached->announce(networks_); number != 0) own.offered = number;
  }
  for (size_t i = 0; i < own.networks.size(); ++i) own.networks[i] = networks_.info(Networks::kKinds[i]);
  info = own.encode();
  return Status::ok();
}

Status Communicator::probe(TransportKind transport, std::span<const uint8_t> info) const {
  ConnectInfo peer;
  if (Status status = ConnectInfo::decode(info, &peer); !status) return status;
  switch (transport) {
    case TransportKind::P2p:
      if (shared_->registry().isThisProcess(peer.process)) return Status::ok();
      return Status::transport("p2p: the peer is another process, peerPid=" + std::to_string(peer.process.pid));
    case TransportKind::Shm:
      return shared_->probe(peer.process, peer.segment);
    case TransportKind::Plugin:
    case TransportKind::Ib:
    case TransportKind::Socket:
      return networks_.probe(transport, peer.networks);
    case TransportKind::None:
      break;
  }
  return Status::invalid("transport=" + std::to_string(static_cast<int>(transport)) +
                         ", expected 0 (p2p), 1 (shm), 2 (plugin), 3 (ib) or 4 (socket)");
}

Status Communicator::connect(int peer, TransportKind transport, std::span<const uint8_t> info) {
  if (Status status = checkPeer(peer, config_.engine.rank, config_.engine.size); !status) return status;
  ConnectInfo decoded;
  if (Status status = ConnectInfo::decode(info, &decoded); !status) return status;
  shared_->setProcess(peer, decoded.process);
  if (isNetwork(transport)) return connectNet(peer, transport, decoded);
  if (transport == TransportKind::P2p && !shared_->registry().isThisProcess(decoded.process)) {
    return probe(transport, info);
  }
  if (transport == TransportKind::P2p || transport == TransportKind::Shm) {
    return connectShared(peer, transport, decoded);
  }
  return probe(transport, info);
}

Status Communicator::connectShared(int peer, TransportKind transport, const ConnectInfo& info) {
  uint8_t* address = nullptr;
  if (Status status = shared_->connect(peer, info.segment, &address); !status) return status;
  looksAtMemory_->store(true, std::memory_order_relaxed);
  return engine_.connectLocal(peer, transport, address);
}

Status Communicator::connectNet(int peer, TransportKind kind, const ConnectInfo& info) {
  NetTransport* network = networks_.find(kind);
  if (network == nullptr) return networks_.probe(kind, info.networks);
  if (net_.get() != nullptr && net_.get() != network) {
    return Status::invalid("peer=" + std::to_string(peer) + " transport=" + nameOf(kind) +
                           ": other peers are reached by another network, and a communicator uses one");
  }
  if (net_.get() == nullptr) {
    net_.set(network);
    slots_.reach(*network);
  }
  if (Status status = network->addPeer(peer, Networks::infoOf(info.networks, kind)); !status) return status;
  const auto staged = stagedChannels_.find(peer);
  for (int channel = 0; channel < config_.engine.channels; ++channel) {
    ConnectionShape shape = engine_.segmentShape().connection;
    if (staged != stagedChannels_.end()) {
      const auto known = staged->second.find(channel);
      if (known == staged->second.end()) continue;
      if (known->second) shape = exchangeShape(shape, config_.engine.size);
    }
    ConnectionMemory ends[2];
    const ConnectionMemory* forwarded = sendMemory(peer, channel);
    for (ConnectionMemory& end : ends) {
      const bool sends = &end == ends;
      if (sends && forwarded != nullptr) {
        end = *forwarded;
        continue;
      }
      if (Status status = slots_.make(shape, end); !status) return status;
      if (kind != TransportKind::Socket) end.maxExchangeBytes = end.shape.simpleSlotBytes();
      end.deviceSlots = slots_.onDevice(peer, channel, sends);
      end.zeroCopySlots = slots_.makeZeroCopySlots();
    }
    FirstUse* firstUse = nullptr;
    if (forwarded == nullptr) {
      if (Status status = network->sendConnection(peer, channel, ends[0], &firstUse); !status) return status;
    }
    if (Status status = network->recvConnection(peer, channel, ends[1]); !status) return status;
    if (Status status = engine_.connectNet(peer, kind, channel, ends[0], ends[1], firstUse); !status) return status;
  }
  return engine_.setProgress(network);
}

Status Communicator::setPaths(const std::vector<NetPath>& paths) {
  for (const NetPath& path : paths) {
    const auto isRank = [this](int rank) { return rank >= 0 && rank < config_.engine.size; };
    if (isRank(path.from) && isRank(path.to) && path.channel >= 0 && path.channel < config_.engine.channels) continue;
    return Status::invalid("channel=" + std::to_string(path.channel) + " from=" + std::to_string(path.from) +
                           " to=" + std::to_string(path.to) + ": no such connection");
  }
  if (net_.get() != nullptr) net_.get()->setPaths(paths);
  return Status::ok();
}

Status Communicator::prepare() {
  if (Status planned = engine_.checkPlan(); !planned) return planned;
  for (const auto& attached : attachments_) {
    if (Status prepared = attached->prepare(net_.get()); !prepared) return prepared;
  }
  networks_.keepOnly(net_.get());
  if (network() == TransportKind::None || network() == TransportKind::Socket) return Status::ok();
  std::vector<std::pair<int, int>> connections;
  for (int channel = 0; channel < config_.engine.channels; ++channel) {
    for (const Channel::Need& need : engine_.needs(channel)) {
      const bool byNetwork = isNetwork(engine_.transportOf(need.peer));
      if (need.send && byNetwork && sendMemory(need.peer, channel) == nullptr) {
        connections.emplace_back(need.peer, channel);
      }
    }
  }
  return net_.get()->connectAhead(connections);
}

Status Communicator::useDeviceSlots(DeviceSlots slots) {
  if (net_.get() != nullptr) return Status::invalid("device slots: expected before connect");
  return slots_.useDevice(std::move(slots));
}

Attachment::Users Communicator::users() const {
  Attachment::Users users = Attachment::Users::None;
  if (net_.get() == nullptr || net_.failed() || engine_.failure() != Code::Ok) return users;
  for (const auto& attached : attachments_) users = std::max(users, attached->users());
  return users;
}

const ConnectionMemory* Communicator::sendMemory(int peer, int channel) const {
  for (const auto& attached : attachments_) {
    if (const ConnectionMemory* memory = attached->sendMemory(peer, channel); memory != nullptr) return memory;
  }
  return nullptr;
}

void Communicator::setStagedChannels(int peer, const std::vector<int>& channels, const std::vector<int>& exchangeOnly) {
  std::map<int, bool>& known = stagedChannels_[peer];
  for (const int channel : channels) known[channel] = false;
  for (const int channel : exchangeOnly) known[channel] = true;
}

bool Communicator::isExchangeOnly(int peer, int channel) const {
  const auto staged = stagedChannels_.find(peer);
  if (staged == stagedChannels_.end()) return false;
  const auto known = staged->second.find(channel);
  return known != staged->second.end() && known->second;
}

Status Communicator::stage(int peer, const std::vector<int>& channels, std::vector<StagedEnds>& ends) {
  const EngineConfig& engine = config_.engine;
  if (peer < 0 || peer >= engine.size || engine_.transportOf(peer) == TransportKind::None) {
    return Status::invalid("peer=" + std::to_string(peer) + " is not connected; call connect for it first");
  }
  ends.clear();
  for (const int channel : channels) {
    if (channel < 0 || channel >= engine.channels) {
      return Status::invalid("channel=" + std::to_string(channel) +
                             ", expected one below channels=" + std::to_string(engine.channels));
    }
    ends.push_back(engine_.connectionEnds(peer, channel));
  }
  return Status::ok();
}

std::shared_ptr<const void> Communicator::memory() const {
  auto all = std::make_shared<std::vector<std::shared_ptr<const void>>>(shared_->mapped());
  slots_.addTo(*all);
  for (const auto& attached : attachments_) attached->addMemory(all.get());
  return all;
}

Status Communicator::startStaging(const ChannelControls& controls, StagingActivity** activity) {
  *activity = nullptr;
  if (net_.get() == nullptr) return Status::ok();
  const EngineConfig& engine = config_.engine;
  const bool oversubscribed = SpinPolicy::isOversubscribed(engine.localRanks, engine.cores);
  StagingProxy::Sharing sharing;
  for (const auto& attached : attachments_) attached->addCounts(&sharing);
  if (!attachments_.empty()) {
    sharing.broken = [this] {
      return std::any_of(attachments_.begin(), attachments_.end(),
                         [](const auto& attached) { return attached->failed(); });
    };
  }
  const auto failed = [this] {
    engine_.abort(Code::Transport);
    if (!net_.failed()) return;
    int peer = -1;
    const std::string why = "has a broken network: " + net_.get()->error(&peer).message();
    for (const auto& attached : attachments_) attached->end(why);
  };
  staging_.reset(new Staging{
      attachments_,
      StagingProxy(*net_.get(), controls, failed, oversubscribed ? 0 : StagingProxy::kSpinNanos, std::move(sharing))});
  if (!staging_->proxy.started()) return staging_->proxy.started();
  for (const auto& attached : attachments_) {
    if (Status started = attached->startStaging(staging_->proxy.activity()); !started) return started;
  }
  *activity = &staging_->proxy.activity();
  return Status::ok();
}

uint64_t Communicator::keepMemory(void* address, size_t bytes) {
  const ShmRegistry& registry = shared_->registry();
  SharedRange range;
  if (net_.get() == nullptr || !registry.find(address, bytes, &range)) return 0;
  return net_.get()->keepUserMemory(address, bytes, [&registry, address, bytes, segment = range.segment] {
    SharedRange now;
    return registry.find(address, bytes, &now) && now.segment == segment;
  });
}

void Communicator::dropMemory(uint64_t number) {
  if (net_.get() != nullptr) net_.get()->dropUserMemory(number);
}

std::string Communicator::lastError() const {
  std::string text = engine_.lastError();
  std::vector<std::string> more = {error_->text()};
  for (const auto& attached : attachments_) more.push_back(attached->error());
  more.push_back(net_.error());
  for (const std::string& one : more) {
    if (!one.empty()) text += (text.empty() ? "" : "; ") + one;
  }
  return text;
}

MemoryUsage Communicator::memoryUsage() const {
  MemoryUsage usage = engine_.memoryUsage();
  usage.residentBytes = shared_->residentBytes() + usage.scratchBytes;
  usage.networkBytes += slots_.bytes();
  return usage;
}

}  // namespace jccl
