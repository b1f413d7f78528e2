// Schedules over hosts: every host has a leader, its ranks meet there, and only leaders send to other hosts. For messages so
// small that what a host sends to another costs by their number.
//
// Where one rank has a part of its own (the root), it leads its host. A leader's partial sum of its host is combined with those
// of the others in the order of the hosts, so all leaders end with the same bits.
#pragma once

#include <cstddef>

#include "collectives/ring.h"

namespace jccl {

struct HostsPlan {
  bool isLeader = false;
  bool hasMembers = false;  // of a leader
  size_t chunkCount = 1;    // elements per step
  size_t begin = 0;
  size_t count = 0;
};

// `inward`: from the members, own input, to the other leaders; a member's sends to its leader. `outward`: from the other
// leaders, own output as its input, to the members; a member's receives from its leader.
template <class Primitives>
void hostsAllReduce(Primitives& inward, Primitives& outward, const HostsPlan& plan) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    const size_t at = plan.begin + done;
    if (plan.isLeader) {
      inward.recvReduceCopySend(at, at, size, false);
      if (inward.failed()) return;  // the members must not get a sum without all that they sent
      outward.recvReduceCopySend(at, at, size, true);
    } else {
      inward.send(at, size);
      outward.recv(at, size);
    }
    done += size;
  } while (done < plan.count);
}

// Of the root: to its members and the other leaders. Of others: from their leader, or, where they lead, from the root to their
// members.
template <class Primitives>
void hostsBroadcast(Primitives& p, const HostsPlan& plan, bool isRoot) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    const size_t at = plan.begin + done;
    if (isRoot) {
      p.copySend(at, at, size);
    } else if (plan.hasMembers) {
      p.recvCopySend(at, size);
    } else {
      p.recv(at, size);
    }
    done += size;
  } while (done < plan.count);
}

// The other way: sums of members, then of leaders.
template <class Primitives>
void hostsReduce(Primitives& p, const HostsPlan& plan, bool isRoot) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    const size_t at = plan.begin + done;
    if (isRoot) {
      p.recvReduceCopy(at, at, size, true);
    } else if (plan.hasMembers) {
      p.recvReduceSend(at, size);
    } else {
      p.send(at, size);
    }
    done += size;
  } while (done < plan.count);
}

}  // namespace jccl
