// A communicator's configuration of a network that reduces (CollNet). The configuration is the same on all ranks,
// except for Group::own.
#pragma once

#include <vector>

#include "transport/coll_net.h"

namespace jccl {

struct CollNetSetup {
  CollNetOffer common;  // the abilities that the plug-ins of all ranks offer
  struct Group {
    std::vector<int> leaders;     // rank of the leader of each host
    CollNetGroup* own = nullptr;  // this rank's end of the group; null if another rank leads its host
  };
  std::vector<Group> groups;  // channel i uses group i
};

}  // namespace jccl
