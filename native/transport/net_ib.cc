#include "transport/net_ib.h"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "base/log.h"
#include "transport/control_listener.h"
#include "transport/ib_connection.h"
#include "transport/ib_memory.h"
#include "transport/socket_dialer.h"
#include "verbs/verbs_text.h"

namespace jccl {
namespace {

// First part of what a listener publishes. The addresses of its sockets follow.
struct ListenerInfo {
  static constexpr uint32_t kMagic = 0x4c42494a;  // "JIBL"
  uint32_t magic = kMagic;
  uint32_t version = 1;
  uint32_t linkLayers = 0;  // one bit for each LinkLayer that an adapter of this rank has
};

Status readInfo(std::span<const uint8_t> wire, ListenerInfo* info, std::span<const uint8_t>* addresses) {
  if (wire.size() < sizeof *info) {
    return Status::transport("ib: the peer sends " + std::to_string(wire.size()) + " bytes, expected at least " +
                             std::to_string(sizeof *info) + "; do all ranks run the same version of JCCL?");
  }
  std::memcpy(info, wire.data(), sizeof *info);
  if (info->magic != ListenerInfo::kMagic || info->version != ListenerInfo{}.version) {
    return Status::transport("ib: the peer sends magic=" + std::to_string(info->magic) + " version=" +
                             std::to_string(info->version) + "; do all ranks run the same version of JCCL?");
  }
  *addresses = wire.subspan(sizeof *info);
  return Status::ok();
}

}  // namespace

// Passes the events of one device to the adapters that are its ports.
class IbNet::Watcher final : public EventHandler {
 public:
  Watcher(verbs::Adapter& first, EventSet& events) : ports_{&first}, events_(events) {}
  ~Watcher() override {
    if (watching_) events_.remove(ports_.front()->eventFd());
  }
  Status watch() {
    Status added = events_.add(ports_.front()->eventFd(), this);
    watching_ = added.isOk();
    return added;
  }
  bool watches(const verbs::Adapter& adapter) const { return ports_.front()->device() == adapter.device(); }
  void add(verbs::Adapter& adapter) { ports_.push_back(&adapter); }
  void onEvents(uint32_t) override { verbs::Adapter::watch(ports_, monotonicNanos()); }

 private:
  std::vector<verbs::Adapter*> ports_;
  EventSet& events_;
  bool watching_ = false;
};

IbNet::IbNet(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents)
    : config_(config), controlEvents_(controlEvents), dataEvents_(dataEvents) {}

IbNet::~IbNet() = default;

Status IbNet::open(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents, std::unique_ptr<Net>* net) {
  if (config.ib.queuePairs < 1 || config.ib.queuePairs > static_cast<int>(verbs::kMaxQueuePairs)) {
    return Status::invalid("JCCL_IB_QPS_PER_CONNECTION=" + std::to_string(config.ib.queuePairs) + ", expected 1 to " +
                           std::to_string(verbs::kMaxQueuePairs));
  }
  std::unique_ptr<IbNet> made(new IbNet(config, controlEvents, dataEvents));
  if (Status opened = verbs::openAdapters(config.ib.adapter, "/sys", &made->adapters_); !opened) return opened;
  for (const auto& adapter : made->adapters_) {
    const verbs::Port& port = adapter->port();
    NetDevice device;
    device.name = port.label;
    device.pciPath = port.pciPath;
    device.address = verbs::gidText(port.gid);
    device.guid = be64toh(adapter->device()->attributes().nodeGuid);
    device.port = port.number;
    device.speedMbps = port.speedMbps;
    device.maxConnections =
        static_cast<uint32_t>(std::max(adapter->device()->attributes().maxQueuePairs / config.ib.queuePairs, 1));
    made->devices_.push_back(std::move(device));
    made->numbers_.push_back(config.devices.of(port.label));
    made->assignWatcher(*adapter);
    logMessage(LogLevel::Info, "net",
               "ib: device=" + port.label + (port.isEthernet() ? " RoCE" : " InfiniBand") +
                   " gid=" + verbs::gidText(port.gid) + " gid_index=" + std::to_string(adapter->path().gidIndex) +
                   " lid=" + std::to_string(port.attributes.lid) +
                   " mtu=" + std::to_string(verbs::mtuBytes(port.attributes.activeMtu)) +
                   " speed_mbps=" + std::to_string(port.speedMbps));
  }
  // Events are added last, because the network thread may call a watcher from then on.
  for (const auto& watcher : made->watchers_) {
    if (Status watched = watcher->watch(); !watched) return watched;
  }
  *net = std::move(made);
  return Status::ok();
}

// Returns the adapter that the plan names if it is open. Otherwise channels use the adapters in rotation, and different
// ranks begin with different adapters.
verbs::Adapter& IbNet::adapterOf(const NetPaths::Ends& ends, int channel, const std::string& whose) const {
  const std::optional<size_t> planned = placeOf(numbers_, ends.local);
  verbs::Adapter& adapter =
      *adapters_[planned.value_or(static_cast<size_t>(config_.rank + channel) % adapters_.size())];
  logMessage(LogLevel::Debug, "net",
             "channel=" + std::to_string(channel) + " " + whose + " adapter=" + adapter.port().label + " (" +
                 reasonOf(ends, planned.has_value()) + ")");
  return adapter;
}

// Ports of one device share a watcher.
void IbNet::assignWatcher(verbs::Adapter& adapter) {
  for (const auto& watcher : watchers_) {
    if (watcher->watches(adapter)) {
      watcher->add(adapter);
      return;
    }
  }
  watchers_.push_back(std::make_unique<Watcher>(adapter, controlEvents_));
}

void IbNet::setPaths(const NetPaths& paths) {
  paths_ = paths;
  const std::string missing = missingText(paths, numbers_);
  if (!missing.empty()) logMessage(LogLevel::Info, "net", "ib: " + missing + " (JCCL_IB_HCA chooses adapters)");
}

uint32_t IbNet::linkLayers() const {
  uint32_t layers = 0;
  for (const auto& adapter : adapters_) layers |= 1U << static_cast<uint32_t>(adapter->port().attributes.linkLayer);
  return layers;
}

Status IbNet::listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) {
  const auto accept = [this](const NetIntroductionHeader& who, DataSocket socket,
                             std::unique_ptr<NetRecvConnection>* connection) -> Status {
    verbs::Adapter& adapter =
        adapterOf(paths_.receiving(who.from, who.channel), who.channel, "from_rank=" + std::to_string(who.from));
    auto made = std::make_unique<IbRecvConnection>(config_, who.from, adapter, dataEvents_);
    if (Status opened = made->open(std::move(socket), controlEvents_); !opened) return opened;
    *connection = std::move(made);
    return Status::ok();
  };
  auto made = std::make_unique<ControlListener>(config_, controlEvents_, accept);
  ListenerInfo info;
  info.linkLayers = linkLayers();
  if (Status opened = made->open(addresses, {reinterpret_cast<const uint8_t*>(&info), sizeof info}); !opened) {
    return opened;
  }
  local_ = made->addresses();
  *listener = std::move(made);
  return Status::ok();
}

Status IbNet::reachable(std::span<const uint8_t> listenerInfo) const {
  ListenerInfo info;
  std::span<const uint8_t> addresses;
  if (Status read = readInfo(listenerInfo, &info, &addresses); !read) return read;
  if ((info.linkLayers & linkLayers()) == 0) {
    return Status::transport("ib: one end has InfiniBand and the other Ethernet (RoCE) adapters only");
  }
  std::vector<SocketDialer::Pair> pairs;
  return SocketDialer::pairAddresses(local_, addresses, {}, &pairs);
}

Status IbNet::connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                      std::unique_ptr<NetSendConnection>* connection) {
  ListenerInfo info;
  std::span<const uint8_t> addresses;
  if (Status read = readInfo(listenerInfo, &info, &addresses); !read) return read;
  std::vector<SocketDialer::Pair> pairs;
  Status paired = SocketDialer::pairAddresses(local_, addresses, {{}, static_cast<size_t>(route.channel), 0}, &pairs);
  if (!paired) return paired;
  const bool forwards = route.from != config_.rank;
  const NetPaths::Ends forwarded{route.device, NetDeviceNumbers::kUnknown, "another rank sends through this one's GPU"};
  verbs::Adapter& adapter = adapterOf(forwards ? forwarded : paths_.sending(route.to, route.channel), route.channel,
                                      "to_rank=" + std::to_string(route.to));
  *connection =
      std::make_unique<IbSendConnection>(config_, route, adapter, controlEvents_, dataEvents_, std::move(pairs));
  return Status::ok();
}

Status IbNet::registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) {
  *memory = std::make_unique<IbMemory>(address, bytes, access == NetAccess::Write);
  return Status::ok();
}

Status IbNet::registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                                   std::unique_ptr<NetMemory>* memory) {
  auto made = std::make_unique<IbMemory>(what);
  for (const int number : adapters) {
    const std::optional<size_t> place = placeOf(numbers_, number);
    if (!place) return Status::invalid("ib: NET/" + std::to_string(number) + " of the plan is not in use on this rank");
    const verbs::Region* region = nullptr;
    if (Status reached = made->with(*adapters_[*place], &region); !reached) return reached;
    devices_[*place].pointers |= static_cast<uint8_t>(NetPointer::Cuda);
  }
  *memory = std::move(made);
  return Status::ok();
}

}  // namespace jccl
