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
  std::shared_ptr<NetPlugin> plugin;
  std::vector<DeviceProperties> devices;
};

// Opens a plug-in for a communicator; `name` is as openNetPlugin has it. By one thread of the process at a time, as NCCL does.
Status openNetDevices(const std::string& name, uint64_t commId, NetDevices* opened);

// The same for whoever only wants to know; the plug-in is begun once, and never ends before the process does: many have state that
// does not survive the end of their last communicator in a library that stays mapped.
Status probeNetDevices(const std::string& name, NetDevices* found);

}  // namespace jccl::plugin
