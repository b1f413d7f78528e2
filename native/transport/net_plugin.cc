#include "transport/net_plugin.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "plugin/net_devices.h"
#include "transport/control_listener.h"
#include "transport/socket_dialer.h"

namespace jccl {
namespace {

// First part of what a listener publishes. The addresses of its sockets follow.
struct ListenerInfo {
  static constexpr uint32_t kMagic = 0x4e4c504a;  // "JPLN"
  uint32_t magic = kMagic;
  uint32_t version = 2;
  std::array<char, 32> plugin{};  // name of the plug-in, padded with zeros
};

Status readInfo(std::span<const uint8_t> wire, ListenerInfo* info, std::span<const uint8_t>* addresses) {
  if (wire.size() >= sizeof *info) std::memcpy(info, wire.data(), sizeof *info);
  if (wire.size() < sizeof *info || info->magic != ListenerInfo::kMagic || info->version != ListenerInfo{}.version) {
    return Status::transport(
        "net: the peer does not use a plug-in as this rank does, or runs another version of JCCL; "
        "JCCL_NET_PLUGIN must be the same on all ranks");
  }
  *addresses = wire.subspan(sizeof *info);
  return Status::ok();
}

std::array<char, 32> shortName(const std::string& name) {
  std::array<char, 32> text{};
  std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
  return text;
}

}  // namespace

Status PluginNet::open(const NetConfig& config, EventSet& controlEvents, EventSet& /*dataEvents*/,
                       std::unique_ptr<Net>* net) {
  uint64_t commId = 0;
  std::memcpy(&commId, config.communicator.data(), sizeof commId);
  plugin::NetDevices opened;
  if (Status begun = plugin::openNetDevices(config.plugin, commId, config.connectTimeoutNanos, &opened); !begun)
    return begun;
  std::unique_ptr<PluginNet> made(new PluginNet(config, controlEvents));
  made->plugin_ = std::move(opened.plugin);
  for (plugin::DeviceProperties& one : opened.devices) made->addDevice(std::move(one));
  *net = std::move(made);
  return Status::ok();
}

void PluginNet::addDevice(plugin::DeviceProperties properties) {
  NetDevice device;
  device.name = properties.name;
  device.pciPath = properties.pciPath;
  device.guid = properties.guid;
  device.port = properties.port;
  device.speedMbps = properties.speedMbps;
  // each connection has two communicators of the plug-in
  device.maxConnections = static_cast<uint32_t>(properties.maxComms) / 2;
  logMessage(LogLevel::Debug, "net",
             "plugin=" + plugin_->name() + " file=" + plugin_->file() +
                 " version=" + std::to_string(plugin_->version()) + " device=" + device.name +
                 " pci=" + device.pciPath + " speed_mbps=" + std::to_string(device.speedMbps));
  numbers_.push_back(config_.devices.of(device.name));
  devices_.push_back(std::move(device));
  const int number = properties.number;
  pluginDevices_.push_back({plugin_, number, std::move(properties)});
}

void PluginNet::close() { logFailure("net", plugin_->finalize()); }

// Returns the device that the plan names if it is in use. Otherwise channels use the devices in rotation, and different
// ranks begin with different devices.
const PluginDevice& PluginNet::deviceOf(const NetPaths::Ends& ends, int channel, const std::string& whose) const {
  const std::optional<size_t> planned = placeOf(numbers_, ends.local);
  const auto rotated = static_cast<size_t>(config_.rank + channel) % pluginDevices_.size();
  const PluginDevice& device = pluginDevices_[planned.value_or(rotated)];
  logMessage(LogLevel::Debug, "net",
             "channel=" + std::to_string(channel) + " " + whose + " device=" + device.properties.name + " (" +
                 reasonOf(ends, planned.has_value()) + ")");
  return device;
}

void PluginNet::setPaths(const NetPaths& paths) {
  paths_ = paths;
  const std::string missing = missingText(paths, numbers_);
  if (!missing.empty()) logMessage(LogLevel::Info, "net", "plug-in: " + missing);
}

Status PluginNet::listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) {
  const auto accept = [this](const NetIntroductionHeader& who, DataSocket socket,
                             std::unique_ptr<NetRecvConnection>* connection) -> Status {
    const PluginDevice& device =
        deviceOf(paths_.receiving(who.from, who.channel), who.channel, "from_rank=" + std::to_string(who.from));
    auto made = std::make_unique<PluginRecvConnection>(config_, who.from, device);
    if (Status opened = made->open(std::move(socket), controlEvents_); !opened) return opened;
    *connection = std::move(made);
    return Status::ok();
  };
  auto made = std::make_unique<ControlListener>(config_, controlEvents_, accept);
  ListenerInfo info;
  info.plugin = shortName(plugin_->name());
  if (Status opened = made->open(addresses, {reinterpret_cast<const uint8_t*>(&info), sizeof info}); !opened) {
    return opened;
  }
  local_ = made->addresses();
  *listener = std::move(made);
  return Status::ok();
}

Status PluginNet::reachable(std::span<const uint8_t> listenerInfo) const {
  ListenerInfo info;
  std::span<const uint8_t> addresses;
  if (Status read = readInfo(listenerInfo, &info, &addresses); !read) return read;
  if (info.plugin != shortName(plugin_->name())) {
    return Status::transport("net: the peer uses plug-in \"" +
                             std::string(info.plugin.data(), ::strnlen(info.plugin.data(), info.plugin.size())) +
                             "\" and this rank \"" + plugin_->name() + "\"; set JCCL_NET_PLUGIN alike on all ranks");
  }
  std::vector<SocketDialer::Pair> pairs;
  return SocketDialer::pairAddresses(local_, addresses, {}, &pairs);
}

Status PluginNet::connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                          std::unique_ptr<NetSendConnection>* connection) {
  ListenerInfo info;
  std::span<const uint8_t> addresses;
  if (Status read = readInfo(listenerInfo, &info, &addresses); !read) return read;
  std::vector<SocketDialer::Pair> pairs;
  Status paired = SocketDialer::pairAddresses(local_, addresses, {{}, static_cast<size_t>(route.channel), 0}, &pairs);
  if (!paired) return paired;
  const PluginDevice& device =
      deviceOf(paths_.sending(route.to, route.channel), route.channel, "to_rank=" + std::to_string(route.to));
  *connection = std::make_unique<PluginSendConnection>(config_, route, device, controlEvents_, std::move(pairs));
  return Status::ok();
}

Status PluginNet::registerMemory(void* address, size_t bytes, NetAccess /*access*/,
                                 std::unique_ptr<NetMemory>* memory) {
  *memory = std::make_unique<PluginMemory>(address, bytes);
  return Status::ok();
}

Status PluginNet::registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                                       std::unique_ptr<NetMemory>* memory) {
  bool byDmaBuf = what.descriptor >= 0;
  for (const int number : adapters) {
    const std::optional<size_t> place = placeOf(numbers_, number);
    if (!place) {
      return Status::invalid("plug-in: NET/" + std::to_string(number) + " of the plan is not in use on this rank");
    }
    const plugin::DeviceProperties& properties = pluginDevices_[*place].properties;
    if (!properties.reachesCuda) {
      return Status::invalid("plugin=" + plugin_->name() + " device=" + properties.name + " does not reach GPUs");
    }
    byDmaBuf = byDmaBuf && properties.takesDmaBuf;
  }
  UniqueFd dmabuf;
  if (byDmaBuf) {
    dmabuf = UniqueFd(::fcntl(what.descriptor, F_DUPFD_CLOEXEC, 0));
    if (!dmabuf) return Status::system("fcntl", "the dma-buf of a GPU");
  }
  for (const int number : adapters) {
    devices_[*placeOf(numbers_, number)].pointers |= static_cast<uint8_t>(NetPointer::Cuda);
  }
  *memory = std::make_unique<PluginMemory>(what.address, what.bytes, std::move(dmabuf));
  return Status::ok();
}

}  // namespace jccl
