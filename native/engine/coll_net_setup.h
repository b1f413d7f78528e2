// A communicator's configuration of a network that reduces (CollNet). It is the same on all ranks, except for `own`.
#pragma once

#include <vector>

#include "transport/coll_net.h"

namespace jccl {

struct CollNetSetup {
  CollNetOffer common;  // what the offers of all ranks have in common
  struct Group {
    std::vector<int> leaders;     // by host
    CollNetGroup* own = nullptr;  // this rank's end of the group; null if another rank leads its host
  };
  std::vector<Group> groups;  // [i] is used by channel i
};

}  // namespace jccl
