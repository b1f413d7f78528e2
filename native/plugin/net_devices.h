// Opens the network plug-ins of this process and lists their devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "plugin/plugin_library.h"

namespace jccl::plugin {

// An initialised plug-in and its devices that reach host memory, at least one.
struct NetDevices {
  std::shared_ptr<NetPlugin> plugin;  // also set if its devices cannot be used
  std::vector<DeviceProperties> devices;
};

// Opens a plug-in for a communicator; openNetPlugin explains `name`. A plug-in that has not answered within the limit
// is left behind.
Status openNetDevices(const std::string& name, uint64_t commId, int64_t limitNanos, NetDevices* opened);

// Opens a plug-in only to learn its devices. The plug-in is initialised once and finalised only when the process ends:
// many plug-ins have state that does not survive the end of their last communicator while the library stays mapped.
Status probeNetDevices(const std::string& name, int64_t limitNanos, NetDevices* found);

}  // namespace jccl::plugin
