// What network plug-ins of this process offer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "plugin/plugin_library.h"

namespace jccl::plugin {

// A plug-in that has begun, with its devices: those that reach memory of the host, of which there is one at least.
struct NetDevices {
  std::shared_ptr<NetPlugin> plugin;  // also where its devices cannot be used
  std::vector<DeviceProperties> devices;
};

// Opens a plug-in for a communicator; `name` is as openNetPlugin has it. One that has not answered after the limit is left behind.
Status openNetDevices(const std::string& name, uint64_t commId, int64_t limitNanos, NetDevices* opened);

// The same for whoever only wants to know. The plug-in is begun once, and never ends before the process does: many have state that
// does not survive the end of their last communicator in a library that stays mapped.
Status probeNetDevices(const std::string& name, int64_t limitNanos, NetDevices* found);

}  // namespace jccl::plugin
