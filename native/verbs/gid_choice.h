// Which of a RoCE port's many GIDs to use.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verbs/verbs_api.h"

namespace jccl::verbs {

struct GidEntry {
  int index = 0;
  Gid gid{};
  int roceVersion = 0;              // 1, 2; 0: not RoCE
  std::string interface;            // the network interface that it belongs to
  bool isInterfaceAddress = false;  // one of that interface's addresses, and not only made from its hardware address
};

struct GidPreference {
  int roceVersion = 2;
  bool ipv6 = false;
};

// The place in `entries` of the best one, -1 where there is none: of the preferred version before another; an address
// of the port's interface before what only the hardware made; of the preferred family before the other; link-local ones
// last.
int chooseGid(std::span<const GidEntry> entries, const GidPreference& preference);

// The GIDs of a port as the kernel lists them below `root`/class/infiniband ("/sys" but in tests), with what the
// interfaces' addresses show of them.
std::vector<GidEntry> readGids(const std::string& root, const std::string& device, int port);

}  // namespace jccl::verbs
