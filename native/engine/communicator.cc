#include "engine/communicator.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/log.h"
#include "engine/plan_arguments.h"
#include "transport/shm_client.h"

namespace jccl {
namespace {

constexpr uint32_t kInfoMagic = 0x4c43434a;  // "JCCL"
constexpr uint32_t kInfoVersion = 4;
constexpr size_t kInfoFixedBytes = 8 + ShmProcess::kWireBytes + 8 + 8;
constexpr size_t kInfoHeaderBytes = kInfoFixedBytes + Networks::kKinds.size() * sizeof(uint32_t);

// Number of peers' host buffers that stay mapped: the larger one of kViews and kViewsPerRank times the number of ranks.
// One operation uses two buffers of each rank.
constexpr size_t kViews = 64;
constexpr size_t kViewsPerRank = 6;
constexpr size_t kViewsPerOperationAndRank = 2;

// Longest time for which closing waits until the network has sent the remaining data.
constexpr int64_t kFlushNanos = 5'000'000'000;

template <class T>
void append(std::vector<uint8_t>& out, const T& value) {
  const size_t end = out.size();
  out.resize(end + sizeof value);
  std::memcpy(out.data() + end, &value, sizeof value);
}

template <class T>
T read(std::span<const uint8_t> from, size_t at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

}  // namespace

Status Communicator::create(const CommunicatorConfig& config, std::unique_ptr<Communicator>& communicator) {
  std::unique_ptr<Communicator> made(new Communicator(config));
  if (Status status = ShmRegistry::acquire(&made->registry_); !status) return status;
  made->segment_ = std::make_shared<ShmSegment>();
  const size_t bytes = Engine::segmentShape(config.engine).bytes();
  if (Status status = ShmSegment::create("communicator", bytes, ShmBacking::Auto, made->segment_.get()); !status) {
    return status;
  }
  made->engine_ = std::make_unique<Engine>(config.engine, made->segment_->address());
  made->engine_->setBufferResolver(made.get());
  made->engine_->setSlotMemory(made->segment_.get());
  // The segment is offered only after the engine has written the header, so that a peer that maps the segment finds it.
  made->segmentId_ = made->registry_->add(made->segment_);
  const auto size = static_cast<size_t>(config.engine.size);
  made->views_ = std::make_unique<ShmViews>(made->registry_, std::max(kViews, kViewsPerRank * size),
                                            kViewsPerOperationAndRank * size);
  made->peerProcesses_.resize(config.engine.size);
  made->peerSegments_.resize(config.engine.size);
  communicator = std::move(made);
  return Status::ok();
}

Communicator::~Communicator() {
  if (collNetStaging_ != nullptr) collNetStaging_->stop();
  stagingProxy_.reset();
  collNetStaging_.reset();
  forwardedSends_.release();
  if (net_ != nullptr) {
    net_->close(engine_->failure() == Code::Ok ? kFlushNanos : 0);
    if (net_->isStuck()) net_->keep(memory());
  }
  if (forwarder_ != nullptr) {
    forwarder_->end("has closed its communicator");
    if (forwardingId_ != 0) registry_->remove(forwardingId_);
    logMessage(LogLevel::Info, "net", "PXN: forwarded bytes=" + std::to_string(forwardedBytes()));
  }
  forwardedMemory_.reset();
  engine_.reset();
  collNet_.reset();
  networks_.close();
  if (registry_ != nullptr && segmentId_ != 0) registry_->remove(segmentId_);
}

NetConfig Communicator::netConfig() const {
  NetConfig net;
  net.rank = config_.engine.rank;
  net.size = config_.engine.size;
  net.channels = config_.engine.channels;
  std::memcpy(net.communicator.data(), config_.engine.token, net.communicator.size());
  net.secret = config_.secret;
  net.streams = std::max(config_.streamsPerConnection, 1);
  net.threads = std::max(config_.socketThreads, 1);
  net.ib = config_.ib;
  net.plugin = config_.plugin;
  net.devices = config_.netDevices;
  if (config_.connectTimeoutNanos > 0) net.connectTimeoutNanos = config_.connectTimeoutNanos;
  if (config_.peerTimeoutNanos > 0) net.peerTimeoutNanos = config_.peerTimeoutNanos;
  return net;
}

Status Communicator::connectInfo(const std::vector<std::string>& addresses, std::vector<uint8_t>& info) {
  if (!addresses.empty() && !networks_.isOpen()) {
    const Networks::Offer offer = {config_.makeNet, config_.usesIb, !config_.plugin.empty()};
    if (Status status = networks_.open(netConfig(), offer, addresses); !status) return status;
  }
  offerForwarding();
  info.clear();
  append(info, kInfoMagic);
  append(info, kInfoVersion);
  const ShmProcess::Wire wire = registry_->process().encode();
  info.insert(info.end(), wire.begin(), wire.end());
  append(info, segmentId_);
  append(info, forwardingId_);
  for (const TransportKind kind : Networks::kKinds) append(info, static_cast<uint32_t>(networks_.info(kind).size()));
  for (const TransportKind kind : Networks::kKinds) {
    info.insert(info.end(), networks_.info(kind).begin(), networks_.info(kind).end());
  }
  return Status::ok();
}

Status Communicator::decode(std::span<const uint8_t> info, PeerInfo& peer) {
  const auto wrong = [&](const char* name, uint64_t found, uint64_t expected) {
    return Status::transport(std::string("connect information has ") + name + "=" + std::to_string(found) +
                             ", expected " + std::to_string(expected) + "; do all ranks run the same build of JCCL?");
  };
  if (info.size() < kInfoHeaderBytes) return wrong("bytes", info.size(), kInfoHeaderBytes);
  if (const auto magic = read<uint32_t>(info, 0); magic != kInfoMagic) return wrong("magic", magic, kInfoMagic);
  if (const auto version = read<uint32_t>(info, 4); version != kInfoVersion) {
    return wrong("version", version, kInfoVersion);
  }
  if (Status status = ShmProcess::decode(info.subspan(8, ShmProcess::kWireBytes), &peer.shm); !status) return status;
  peer.segment = read<uint64_t>(info, 8 + ShmProcess::kWireBytes);
  peer.forwarding = read<uint64_t>(info, 8 + ShmProcess::kWireBytes + 8);
  uint64_t bytes = kInfoHeaderBytes;
  for (size_t i = 0; i < peer.networks.size(); ++i) {
    const uint64_t length = read<uint32_t>(info, kInfoFixedBytes + i * sizeof(uint32_t));
    if (bytes + length > info.size()) return wrong("bytes", info.size(), bytes + length);
    peer.networks[i] = info.subspan(bytes, length);
    bytes += length;
  }
  if (info.size() != bytes) return wrong("bytes", info.size(), bytes);
  return Status::ok();
}

Status Communicator::probe(TransportKind transport, std::span<const uint8_t> info) const {
  PeerInfo peer;
  if (Status status = decode(info, peer); !status) return status;
  switch (transport) {
    case TransportKind::P2p:
      if (registry_->isThisProcess(peer.shm)) return Status::ok();
      return Status::transport("p2p: the peer is another process, peerPid=" + std::to_string(peer.shm.pid));
    case TransportKind::Shm: {
      std::shared_ptr<ShmSegment> view;
      return registry_->import(peer.shm, peer.segment, segment_->bytes(), {}, &view);
    }
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
  PeerInfo decoded;
  if (Status status = decode(info, decoded); !status) return status;
  peerProcesses_[peer] = decoded.shm;
  if (isNetwork(transport)) return connectNet(peer, transport, decoded);
  if (transport == TransportKind::P2p && !registry_->isThisProcess(decoded.shm)) return probe(transport, info);
  if (transport == TransportKind::P2p || transport == TransportKind::Shm) {
    return connectShared(peer, transport, decoded);
  }
  return probe(transport, info);
}

Status Communicator::connectShared(int peer, TransportKind transport, const PeerInfo& info) {
  std::shared_ptr<ShmSegment> view;
  if (Status status = registry_->import(info.shm, info.segment, segment_->bytes(), {}, &view); !status) return status;
  if (Status status = engine_->connectLocal(peer, transport, view->address()); !status) return status;
  peerSegments_[peer] = std::move(view);
  return Status::ok();
}

// Allocates the slots of one end of a network connection, with the layout of a block in the segment. The operating
// system provides their pages at first use.
Status Communicator::makeSlots(ConnectionMemory& end) {
  const ConnectionShape& shape = engine_->segmentShape().connection;
  auto memory = std::make_shared<MappedMemory>();
  if (Status status = MappedMemory::mapAnonymous(shape.blockBytes(), *memory); !status) return status;
  end = {memory->base(), reinterpret_cast<HeadLine*>(memory->base() + shape.headOffset()), shape};
  const std::lock_guard lock(errorMutex_);
  netMemory_.push_back(std::move(memory));
  return Status::ok();
}

Status Communicator::connectNet(int peer, TransportKind kind, const PeerInfo& info) {
  NetTransport* network = networks_.find(kind);
  if (network == nullptr) return networks_.probe(kind, info.networks);
  if (net_ != nullptr && net_ != network) {
    return Status::invalid("peer=" + std::to_string(peer) + " transport=" + nameOf(kind) +
                           ": other peers are reached by another network, and a communicator uses one");
  }
  if (net_ == nullptr) {
    {
      const std::lock_guard lock(errorMutex_);
      net_ = network;
    }
    registerDeviceSlots();
  }
  if (Status status = net_->addPeer(peer, Networks::infoOf(info.networks, kind)); !status) return status;
  const ConnectionShape& shape = engine_->segmentShape().connection;
  for (int channel = 0; channel < config_.engine.channels; ++channel) {
    ConnectionMemory ends[2];
    const ConnectionMemory* forwarded = forwardedSends_.find(peer, channel);
    for (ConnectionMemory& end : ends) {
      const bool sends = &end == ends;
      if (sends && forwarded != nullptr) {
        end = *forwarded;
        continue;
      }
      if (Status status = makeSlots(end); !status) return status;
      if (kind != TransportKind::Socket) end.maxExchangeBytes = shape.simpleSlotBytes();
      end.deviceSlots = deviceSlots(peer, channel, sends);
      end.zeroCopySlots = zeroCopySlots_.emplace_back(new ZeroCopySlot[kSlots]).get();
    }
    FirstUse* firstUse = nullptr;
    if (forwarded == nullptr) {
      if (Status status = net_->sendConnection(peer, channel, ends[0], &firstUse); !status) return status;
    }
    if (Status status = net_->recvConnection(peer, channel, ends[1]); !status) return status;
    if (Status status = engine_->connectNet(peer, kind, channel, ends[0], ends[1], firstUse); !status) return status;
  }
  return engine_->setProgress(net_);
}

Status Communicator::setPaths(const std::vector<NetPath>& paths) {
  for (const NetPath& path : paths) {
    const auto isRank = [this](int rank) { return rank >= 0 && rank < config_.engine.size; };
    if (isRank(path.from) && isRank(path.to) && path.channel >= 0 && path.channel < config_.engine.channels) continue;
    return Status::invalid("channel=" + std::to_string(path.channel) + " from=" + std::to_string(path.from) +
                           " to=" + std::to_string(path.to) + ": no such connection");
  }
  if (net_ != nullptr) net_->setPaths(paths);
  return Status::ok();
}

Status Communicator::prepare() {
  if (Status planned = engine_->checkPlan(); !planned) return planned;
  if (Status started = startForwarding(); !started) return started;
  networks_.keepOnly(net_);
  if (network() == TransportKind::None || network() == TransportKind::Socket) return Status::ok();
  std::vector<std::pair<int, int>> connections;
  for (int channel = 0; channel < config_.engine.channels; ++channel) {
    for (const Channel::Need& need : engine_->needs(channel)) {
      const bool byNetwork = isNetwork(engine_->transportOf(need.peer));
      if (need.send && byNetwork && forwardedSends_.find(need.peer, channel) == nullptr) {
        connections.emplace_back(need.peer, channel);
      }
    }
  }
  return net_->connectAhead(connections);
}

Status Communicator::useDeviceSlots(DeviceSlots slots) {
  const size_t needed = slots.uses.size() * engine_->segmentShape().connection.simpleSlotsBytes();
  if (net_ != nullptr || slots.memory.bytes < needed) {
    return Status::invalid("device slots: bytes=" + std::to_string(slots.memory.bytes) + ", expected at least " +
                           std::to_string(needed) + " for connections=" + std::to_string(slots.uses.size()) +
                           ", and before connect");
  }
  deviceSlots_ = std::move(slots);
  return Status::ok();
}

// Registers the device slots with the network; if that fails, connections use memory of the host. Each end of a
// connection decides alone, because it need not know where the slots of the other end are.
void Communicator::registerDeviceSlots() {
  if (deviceSlots_.uses.empty()) return;
  std::set<int> adapters;
  for (const DeviceSlots::Use& use : deviceSlots_.uses) adapters.insert(use.adapter);
  const Status reached = net_->setDeviceMemory(deviceSlots_.memory, adapters);
  const std::string connections = "connections=" + std::to_string(deviceSlots_.uses.size());
  if (reached) {
    logMessage(LogLevel::Info, "net", "GPUDirect RDMA: " + connections + " have their slots in memory of the GPU");
    return;
  }
  logMessage(LogLevel::Warn, "net",
             "GPUDirect RDMA: " + connections + " go through memory of the host instead: " + reached.message());
  deviceSlots_ = {};
}

uint8_t* Communicator::deviceSlots(int peer, int channel, bool sends) const {
  const auto& uses = deviceSlots_.uses;
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const DeviceSlots::Use& use) {
    return use.peer == peer && use.channel == channel && use.sends == sends;
  });
  if (found == uses.end()) return nullptr;
  const size_t each = engine_->segmentShape().connection.simpleSlotsBytes();
  return static_cast<uint8_t*>(deviceSlots_.memory.address) + static_cast<size_t>(found - uses.begin()) * each;
}

Status Communicator::forwardFor(const NetDeviceMemory& slots, std::vector<ForwardedConnection> connections) {
  const ConnectionShape& shape = engine_->segmentShape().connection;
  const size_t needed = connections.size() * shape.simpleSlotsBytes();
  if (networks_.isOpen() || forwarder_ != nullptr || connections.empty() || slots.bytes < needed) {
    return Status::invalid("forwarded slots: bytes=" + std::to_string(slots.bytes) + ", expected at least " +
                           std::to_string(needed) + " for connections=" + std::to_string(connections.size()) +
                           ", and once, before connectInfo");
  }
  forwardedSlots_ = slots;
  return Forwarder::create(shape, std::move(connections), &forwarder_);
}

// Offers to forward if the network can access the slots in GPU memory. Otherwise the senders use memory of the host.
void Communicator::offerForwarding() {
  NetTransport* network = nullptr;
  for (const TransportKind kind : {TransportKind::Plugin, TransportKind::Ib, TransportKind::Socket}) {
    if (network == nullptr) network = networks_.find(kind);
  }
  if (forwarder_ == nullptr || forwardingId_ != 0 || network == nullptr) return;
  std::set<int> adapters;
  for (const ForwardedConnection& one : forwarder_->connections()) adapters.insert(one.adapter);
  const Status reached = network->reachDeviceMemory(forwardedSlots_, adapters, &forwardedMemory_);
  const std::string what = "PXN: forwarding connections=" + std::to_string(forwarder_->connections().size());
  if (!reached) {
    logMessage(LogLevel::Warn, "net",
               what + " is not possible, other ranks send them through memory of the host: " + reached.message());
    return;
  }
  forwardingNet_ = network;
  forwardingId_ = registry_->add(forwarder_->segment());
}

void Communicator::sendThrough(int forwarder, std::span<const uint8_t> info, size_t connections, uint8_t* slots,
                               const std::vector<ForwardedSends::Request>& requests) {
  const ConnectionShape& shape = engine_->segmentShape().connection;
  PeerInfo peer;
  Status taken = decode(info, peer);
  if (taken && peer.forwarding == 0) taken = Status::transport("that rank does not forward; its log says why");
  std::shared_ptr<ShmSegment> segment;
  if (taken) taken = registry_->import(peer.shm, peer.forwarding, 0, {}, &segment);
  if (taken) {
    taken = forwardedSends_.take(config_.engine.rank, forwarder, peer.shm, std::move(segment), shape, connections,
                                 slots, requests);
  }
  const std::string what = "connections=" + std::to_string(requests.size());
  const std::string who = "the GPU of rank=" + std::to_string(forwarder);
  if (taken) {
    logMessage(LogLevel::Info, "net", "PXN: " + what + " lead through " + who);
  } else {
    logMessage(LogLevel::Warn, "net",
               "PXN: " + what + " go through memory of the host instead of " + who + ": " + taken.message());
  }
}

// Makes the connections that senders have taken. Must be called after all senders have taken theirs.
Status Communicator::startForwarding() {
  if (forwardingNet_ == nullptr) return Status::ok();
  if (net_ != forwardingNet_) {
    forwardedMemory_.reset();
    forwarder_->end("uses another network than the one by which it offered to forward");
    return Status::ok();
  }
  for (size_t i = 0; i < forwarder_->connections().size(); ++i) {
    const ForwardedConnection& one = forwarder_->connections()[i];
    if (!forwarder_->isTaken(i)) continue;
    ConnectionMemory memory = forwarder_->memory(i);
    memory.deviceSlots = static_cast<uint8_t*>(forwardedSlots_.address) + i * memory.shape.simpleSlotsBytes();
    Status status =
        net_->forward(one.from, one.to, one.channel, one.adapter, memory, forwardedMemory_.get(), one.ahead);
    if (!status) return status;
  }
  return Status::ok();
}

Communicator::Senders Communicator::senders() const {
  Senders senders = Senders::None;
  if (forwardingId_ == 0 || net_ == nullptr || net_->failed() || engine_->failure() != Code::Ok) return senders;
  for (size_t i = 0; i < forwarder_->connections().size(); ++i) {
    const ShmProcess& process = peerProcesses_[forwarder_->connections()[i].from];
    if (!forwarder_->isTaken(i)) continue;
    if (registry_->isThisProcess(process)) {
      senders = std::max(senders, Senders::Here);
    } else if (jccl::isRunning(process)) {
      return Senders::Elsewhere;
    }
  }
  return senders;
}

uint64_t Communicator::forwardedBytes() const { return net_ == nullptr ? 0 : net_->forwardedBytes(); }

Status Communicator::stage(int peer, const std::vector<int>& channels, std::vector<StagedEnds>& ends) {
  const EngineConfig& engine = config_.engine;
  if (peer < 0 || peer >= engine.size || engine_->transportOf(peer) == TransportKind::None) {
    return Status::invalid("peer=" + std::to_string(peer) + " is not connected; call connect for it first");
  }
  ends.clear();
  for (const int channel : channels) {
    if (channel < 0 || channel >= engine.channels) {
      return Status::invalid("channel=" + std::to_string(channel) +
                             ", expected one below channels=" + std::to_string(engine.channels));
    }
    ends.push_back(engine_->connectionEnds(peer, channel));
  }
  return Status::ok();
}

std::shared_ptr<const void> Communicator::memory() const {
  auto all = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  all->push_back(segment_);
  all->insert(all->end(), peerSegments_.begin(), peerSegments_.end());
  all->insert(all->end(), netMemory_.begin(), netMemory_.end());
  for (const auto& segment : forwardedSends_.segments()) all->push_back(segment);
  return all;
}

Status Communicator::startStaging(const ChannelControls& controls, StagingActivity** activity) {
  *activity = nullptr;
  if (net_ == nullptr) return Status::ok();
  const EngineConfig& engine = config_.engine;
  const bool oversubscribed = SpinPolicy::isOversubscribed(engine.localRanks, engine.cores);
  StagingProxy::Forwarding forwarding;
  if (forwarder_ != nullptr) forwarding.counts = &forwarder_->counts();
  forwarding.forwarders = forwardedSends_.counts();
  if (!forwardedSends_.empty() || collNetStaging_ != nullptr) {
    forwarding.broken = [this] {
      return forwardedSends_.broken() || (collNetStaging_ != nullptr && collNetStaging_->failed());
    };
  }
  const auto failed = [this] {
    engine_->abort(Code::Transport);
    int peer = -1;
    if (forwarder_ != nullptr && net_->failed())
      forwarder_->end("has a broken network: " + net_->error(&peer).message());
  };
  stagingProxy_ = std::make_unique<StagingProxy>(*net_, controls, failed, oversubscribed ? 0 : StagingProxy::kSpinNanos,
                                                 std::move(forwarding));
  if (!stagingProxy_->started()) return stagingProxy_->started();
  if (collNetStaging_ != nullptr) {
    if (Status started = collNetStaging_->start(stagingProxy_->activity()); !started) return started;
  }
  *activity = &stagingProxy_->activity();
  return Status::ok();
}

uint64_t Communicator::keepMemory(void* address, size_t bytes) {
  SharedRange range;
  if (net_ == nullptr || !registry_->find(address, bytes, &range)) return 0;
  return net_->keepUserMemory(address, bytes, [this, address, bytes, segment = range.segment] {
    SharedRange now;
    return registry_->find(address, bytes, &now) && now.segment == segment;
  });
}

void Communicator::dropMemory(uint64_t number) {
  if (net_ != nullptr) net_->dropUserMemory(number);
}

bool Communicator::locate(const void* address, size_t bytes, uint64_t& segment, uint64_t& offset) {
  SharedRange range;
  if (!registry_->find(address, bytes, &range)) return false;
  segment = range.segment;
  offset = range.offset;
  return true;
}

uint8_t* Communicator::resolve(int peer, uint64_t segment, uint64_t offset, size_t bytes) {
  uint8_t* address = nullptr;
  if (Status status = views_->resolve(peer, peerProcesses_[peer], segment, offset, bytes, &address); !status) {
    noteError(status);
    return nullptr;
  }
  return address;
}

bool Communicator::isRunning(int peer) { return jccl::isRunning(peerProcesses_[peer]); }

void Communicator::isolate(int peer, void* address, size_t bytes, int64_t waitedNanos) {
  const Status isolated = registry_->isolate(address, bytes);
  const std::string text =
      "in place: peer=" + std::to_string(peer) + " pid=" + std::to_string(peerProcesses_[peer].pid) +
      " has not left the receive buffer of bytes=" + std::to_string(bytes) +
      " for millis=" + std::to_string(waitedNanos / 1'000'000) + ", expected less than 1; is that process stopped? " +
      (isolated ? "Its late stores go nowhere: the buffer has other pages now, and later operations do not use it in "
                  "place; allocate another for their full speed"
                : "It may still store into the buffer, do not use it again: " + isolated.message());
  logMessage(LogLevel::Warn, "shm", text);
  noteError(Status::transport(text));
}

void Communicator::noteError(const Status& status) {
  const std::lock_guard lock(errorMutex_);
  error_ = status.message();
}

std::string Communicator::lastError() const {
  std::string text = engine_->lastError();
  const auto add = [&text](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
  };
  const NetTransport* net = nullptr;
  {
    const std::lock_guard lock(errorMutex_);
    add(error_);
    net = net_;
  }
  if (collNet_ != nullptr) add(collNet_->error().message());
  if (collNetStaging_ != nullptr && collNet_->error()) add(collNetStaging_->error().message());
  add(forwardedSends_.error());
  if (net != nullptr && net->failed()) {
    int peer = -1;
    const Status error = net->error(&peer);
    add((peer < 0 ? std::string() : "peer=" + std::to_string(peer) + " ") + error.message());
  }
  return text;
}

MemoryUsage Communicator::memoryUsage() const {
  MemoryUsage usage = engine_->memoryUsage();
  struct stat file {};
  if (::fstat(segment_->fd(), &file) == 0) usage.residentBytes = static_cast<size_t>(file.st_blocks) * 512;
  usage.residentBytes += usage.scratchBytes;
  const std::lock_guard lock(errorMutex_);
  for (const auto& memory : netMemory_) usage.networkBytes += memory->bytes();
  return usage;
}

}  // namespace jccl
