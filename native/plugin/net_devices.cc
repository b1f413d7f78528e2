#include "plugin/net_devices.h"

#include <map>
#include <mutex>

namespace jccl::plugin {
namespace {

constexpr int kMaxDevices = 64;

std::mutex& beginning() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

Status read(NetPlugin& plugin, std::vector<DeviceProperties>* devices) {
  int count = 0;
  if (Status counted = plugin.devices(&count); !counted) return counted;
  if (count < 1 || count > kMaxDevices) {
    return {Code::System, "devices=" + std::to_string(count) + ", expected 1 to " + std::to_string(kMaxDevices) +
                              "; does this host have a card that it drives?"};
  }
  devices->clear();
  for (int i = 0; i < count; ++i) {
    DeviceProperties one;
    if (Status got = plugin.properties(i, &one); !got) return got;
    one.number = i;
    if (one.reachesHost) devices->push_back(std::move(one));
  }
  if (devices->empty()) return {Code::System, "none of its devices reaches memory of the host"};
  return Status::ok();
}

Status begin(const std::string& name, uint64_t commId, NetDevices* opened) {
  if (Status found = openNetPlugin(name, &opened->plugin); !found) return found;
  if (Status begun = opened->plugin->init(commId); !begun) return begun;
  return read(*opened->plugin, &opened->devices);
}

Status named(const std::string& name, Status status) {
  if (status) return status;
  const std::string which = name.empty() ? "" : " \"" + name + "\"";
  return {status.code(), "net plug-in" + which + ": " + status.message()};
}

}  // namespace

Status openNetDevices(const std::string& name, uint64_t commId, NetDevices* opened) {
  const std::lock_guard lock(beginning());
  return named(name, begin(name, commId, opened));
}

Status probeNetDevices(const std::string& name, NetDevices* found) {
  static auto* kept = new std::map<std::string, std::shared_ptr<NetPlugin>>;
  const std::lock_guard lock(beginning());
  const auto known = kept->find(name);
  if (known != kept->end()) {
    found->plugin = known->second;
    return named(name, read(*found->plugin, &found->devices));
  }
  Status begun = begin(name, 0, found);
  if (begun) kept->emplace(name, found->plugin);
  return named(name, begun);
}

}  // namespace jccl::plugin
