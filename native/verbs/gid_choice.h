// Chooses one of the many GIDs of a RoCE port.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verbs/verbs_api.h"

namespace jccl::verbs {

struct GidEntry {
  int index = 0;
  Gid gid{};
  int roceVersion = 0;    // RoCE version, 1 or 2; 0: not RoCE
  std::string interface;  // network interface of the GID
  // true: the GID is an address of that interface; false: it is only derived from the hardware address
  bool isInterfaceAddress = false;
};

struct GidPreference {
  int roceVersion = 2;
  bool ipv6 = false;
};

// Returns the index of the best entry, or -1 if there is none. In order of precedence, an entry is better if it has the
// preferred version, is not link-local, is an address of the port's interface, and has the preferred family.
int chooseGid(std::span<const GidEntry> entries, const GidPreference& preference);

// Reads the GIDs of a port that the kernel lists below `root`/class/infiniband, and compares them with the addresses of
// the interfaces. `root` is "/sys", except in tests.
std::vector<GidEntry> readGids(const std::string& root, const std::string& device, int port);

}  // namespace jccl::verbs
