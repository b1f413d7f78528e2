// What a communicator knows of a network that reduces: the same on all ranks, but for the groups in which a rank leads its host.
#pragma once

#include <vector>

#include "transport/coll_net.h"

namespace jccl {

struct CollNetSetup {
  CollNetOffer common;
  // By group, which channels use in turn: the leader of each host, and this rank's place, or null where another leads its host.
  struct Group {
    std::vector<int> leaders;
    CollNetGroup* own = nullptr;
  };
  std::vector<Group> groups;
};

}  // namespace jccl
