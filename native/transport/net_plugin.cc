#include "transport/net_plugin.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "base/limited_run.h"
#include "base/log.h"
#include "transport/control_listener.h"
#include "transport/socket_dialer.h"

namespace jccl {
namespace {

constexpr int kMaxDevices = 64;

// What a listener publishes: this, and the addresses of its sockets behind it.
struct ListenerInfo {
  static constexpr uint32_t kMagic = 0x4e4c504a;  // "JPLN"
  uint32_t magic = kMagic;
  uint32_t version = 2;
  std::array<char, 32> plugin{};  // its name, with zeros behind
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

// Where no caller is left that could report it.
void note(const Status& status) {
  if (!status) logMessage(LogLevel::Warn, "net", status.message());
}

// What opening a plug-in has to do, on a thread that it may hold for ever.
struct Opening {
  std::mutex mutex;  // of `plugin`
  std::shared_ptr<plugin::NetPlugin> plugin;
  std::vector<PluginDevice> found;
  Status result;

  void run(const std::string& name, uint64_t commId) {
    std::shared_ptr<plugin::NetPlugin> opened;
    result = plugin::openNetPlugin(name, &opened);
    if (!result) return;
    {
      const std::lock_guard lock(mutex);
      plugin = opened;
    }
    result = readDevices(opened, commId);
    if (!result) note(opened->finalize());
  }

  Status readDevices(const std::shared_ptr<plugin::NetPlugin>& opened, uint64_t commId) {
    if (Status begun = opened->init(commId); !begun) return begun;
    int count = 0;
    if (Status counted = opened->devices(&count); !counted) return counted;
    if (count < 1 || count > kMaxDevices) {
      return {Code::System, opened->watch().who() + ": devices=" + std::to_string(count) + ", expected 1 to " +
                                std::to_string(kMaxDevices) + "; does this host have a card that it drives?"};
    }
    for (int i = 0; i < count; ++i) {
      PluginDevice one{opened, i, {}};
      if (Status read = opened->properties(i, &one.properties); !read) return read;
      if (one.properties.reachesHost) found.push_back(std::move(one));
    }
    if (found.empty())
      return {Code::System, opened->watch().who() + ": none of its devices reaches memory of the host"};
    return Status::ok();
  }

  Status whyItHangs(int64_t limitNanos) {
    const std::lock_guard lock(mutex);
    // Asked twice, it is stuck if it is still in the call of the first time; what is slow but moves is not waited for either.
    if (plugin != nullptr && !plugin->watch().isStuck(0, limitNanos) &&
        plugin->watch().isStuck(limitNanos, limitNanos)) {
      return plugin->watch().error();
    }
    return Status::transport("has not been opened after " + std::to_string(limitNanos / 1'000'000) +
                             " ms, and is left behind");
  }
};

std::array<char, 32> shortName(const std::string& name) {
  std::array<char, 32> text{};
  std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
  return text;
}

}  // namespace

Status PluginNet::open(const NetConfig& config, EventSet& controlEvents, EventSet& /*dataEvents*/,
                       std::unique_ptr<Net>* net) {
  std::unique_ptr<PluginNet> made(new PluginNet(config, controlEvents));
  uint64_t commId = 0;
  std::memcpy(&commId, config.communicator.data(), sizeof commId);
  const auto opening = std::make_shared<Opening>();
  const bool returned = runWithin(config.connectTimeoutNanos, "jccl-plugin",
                                  [opening, name = config.plugin, commId] { opening->run(name, commId); });
  const Status opened = returned ? opening->result : opening->whyItHangs(config.connectTimeoutNanos);
  if (!opened) return {opened.code(), "net plug-in \"" + config.plugin + "\": " + opened.message()};
  made->use(opening->found);
  *net = std::move(made);
  return Status::ok();
}

void PluginNet::use(const std::vector<PluginDevice>& found) {
  plugin_ = found.front().plugin;
  for (const PluginDevice& one : found) {
    NetDevice device;
    device.name = one.properties.name;
    device.pciPath = one.properties.pciPath;
    device.guid = one.properties.guid;
    device.port = one.properties.port;
    device.speedMbps = one.properties.speedMbps;
    device.maxConnections = static_cast<uint32_t>(one.properties.maxComms) / 2;  // each has two communicators
    logMessage(LogLevel::Info, "net",
               "plugin=" + plugin_->name() + " file=" + plugin_->file() +
                   " version=" + std::to_string(plugin_->version()) + " device=" + device.name +
                   " pci=" + device.pciPath + " speed_mbps=" + std::to_string(device.speedMbps));
    numbers_.push_back(config_.devices.of(device.name));
    devices_.push_back(std::move(device));
    pluginDevices_.push_back(one);
  }
}

void PluginNet::close() { note(plugin_->finalize()); }

// Where the plan names none, channels use the devices in rotation, and ranks begin at different ones.
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
  const auto accept = [this](const NetIntroductionHeader& who, UniqueFd socket,
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

}  // namespace jccl
