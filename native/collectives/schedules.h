// The schedule of each collective, for hosts and GPUs.
#pragma once

#include "base/collective.h"
#include "collectives/direct.h"
#include "collectives/ring.h"
#include "collectives/tree.h"

namespace jccl {

// Runs a collective in a ring. Exchanges between pairs of ranks have no schedule.
template <class Primitives>
JCCL_FN void ringSchedule(Primitives& p, const RingPlan& plan, const PartPlan& parts, Collective collective, int root) {
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Barrier:
      ringAllReduce(p, plan);
      break;
    case Collective::AllGather:
      ringAllGather(p, plan, parts);
      break;
    case Collective::ReduceScatter:
      ringReduceScatter(p, plan, parts);
      break;
    case Collective::Broadcast:
      ringBroadcast(p, plan, root);
      break;
    case Collective::Reduce:
      ringReduce(p, plan, root);
      break;
    default:
      break;
  }
}

// Runs a collective in which every rank sends to every rank that needs its data. `twoShot`: see directAllReduceTwoShot.
template <class Primitives>
JCCL_FN void directSchedule(Primitives& p, const DirectPlan& plan, const PartPlan& parts, Collective collective,
                            int root, bool twoShot) {
  switch (collective) {
    case Collective::AllReduce:
      if (twoShot) {
        directAllReduceTwoShot(p, plan);
      } else {
        directAllReduce(p, plan);
      }
      break;
    case Collective::Barrier:
      directAllReduce(p, plan);
      break;
    case Collective::AllGather:
      directAllGather(p, plan, parts);
      break;
    case Collective::ReduceScatter:
      directReduceScatter(p, plan, parts);
      break;
    case Collective::Broadcast:
      directBroadcast(p, plan, root);
      break;
    case Collective::Reduce:
      directReduce(p, plan, root);
      break;
    default:
      break;
  }
}

}  // namespace jccl
