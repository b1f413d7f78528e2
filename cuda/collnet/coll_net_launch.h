// The launch descriptor of CollNet.
#pragma once

#include "cuda/kernels/launch.h"

namespace jccl::device {

// A rank's links towards the network, and away from it, on one channel: in the chain and in the tree of its host. For
// the leader, chainUp and treeUp are the index of the extra end, which leads to the network.
struct CollNetChannel {
  int32_t chainUp;
  int32_t chainDown;  // -1 for the last rank of the chain
  int32_t treeUp;
  int32_t treeDown[kMaxTreeLinks];
  int32_t treeChildren;
  int32_t chainRanks;   // for all-gathers and reduce-scatters: number of ranks from this one to the last of the chain
  int32_t chainPlace;   // index of this rank among those ranks in order of rank number
  int32_t leaderAfter;  // on a leader: the next leader, with which it compares operations
  int32_t leaderBefore;
};

struct CollNetLaunch : Launch {
  const CollNetChannel* links;  // by channel
};
static_assert(sizeof(CollNetLaunch) <= kMaxParameterBytes);

}  // namespace jccl::device
