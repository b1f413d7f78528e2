// Converts the properties of a plug-in's device, whatever its version and kind.
#pragma once

#include <algorithm>
#include <cstddef>

#include "plugin/net_abi.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_library.h"

namespace jccl::plugin {

// Assumed for versions that do not state a maximum.
inline constexpr size_t kDefaultMaxMessageBytes = size_t{1} << 30;

template <int Version>
const auto& commonOf(const Properties<Version>& raw) {
  if constexpr (Version >= 11) {
    return raw.common;
  } else {
    return raw;
  }
}

template <int Version>
DeviceProperties propertiesOf(const Properties<Version>& raw, bool registersDmaBuf) {
  const auto& common = commonOf<Version>(raw);
  DeviceProperties found;
  found.name = textOr(common.name, "unnamed");
  found.pciPath = textOr(common.pciPath, "");
  found.guid = common.guid;
  found.reachesHost = (common.pointers & kPointerHost) != 0;
  found.reachesCuda = (common.pointers & kPointerCuda) != 0;
  found.takesDmaBuf = (common.pointers & kPointerDmaBuf) != 0 && registersDmaBuf;
  if constexpr (Version >= 8) found.registrationIsGlobal = common.registrationIsGlobal != 0;
  if constexpr (Version >= 9) found.forceFlush = common.forceFlush != 0;
  found.speedMbps = std::max(common.speed, 0);
  found.port = std::max(common.port, 0);
  found.latencyMicros = common.latency >= 0 ? common.latency : 0;  // a NaN becomes 0, too
  found.maxComms = std::max(common.maxComms, 0);
  found.maxRecvs = std::max(common.maxRecvs, 1);
  found.maxMessageBytes = found.maxCollectiveBytes = kDefaultMaxMessageBytes;
  if constexpr (Version >= 9) {
    found.maxMessageBytes = common.maxMessageBytes;
    found.maxCollectiveBytes = common.maxCollectiveBytes;
  }
  return found;
}

}  // namespace jccl::plugin
