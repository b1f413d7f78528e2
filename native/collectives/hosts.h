// Schedules over hosts: the leader of each host collects the data of its host's ranks, and only leaders send to other
// hosts. These schedules are for small messages, for which the cost between hosts depends on the number of messages.
//
// In an operation with a root, the root leads its host. Leaders combine the partial sums of all hosts in the order of
// the hosts, so all leaders end with the same bits.
#pragma once

#include <cstddef>

#include "collectives/ring.h"

namespace jccl {

struct HostsPlan {
  bool isLeader = false;
  size_t chunkCount = 1;  // elements per step
  size_t begin = 0;
  size_t count = 0;
};

// On a leader, `inward` receives from the members, adds the leader's input, and sends to the other leaders; `outward`
// receives from the other leaders, has the leader's output as its input, and sends to the members. On a member,
// `inward` sends to the leader and `outward` receives from it.
template <class Primitives>
void hostsAllReduce(Primitives& inward, Primitives& outward, const HostsPlan& plan) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    const size_t at = plan.begin + done;
    if (plan.isLeader) {
      inward.recvReduceCopySend(at, at, size, false);
      if (inward.failed()) return;  // the members must not receive an incomplete sum
      outward.recvReduceCopySend(at, at, size, true);
    } else {
      inward.send(at, size);
      outward.recv(at, size);
    }
    done += size;
  } while (done < plan.count);
}

// The root sends to its members and to other leaders. Ranks that pass the data on are leaders with members, and along a
// tree those with leaders below them.
template <class Primitives>
void hostsBroadcast(Primitives& p, const HostsPlan& plan, bool isRoot, bool passesOn) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    const size_t at = plan.begin + done;
    if (isRoot) {
      p.copySend(at, at, size);
    } else if (passesOn) {
      p.recvCopySend(at, size);
    } else {
      p.recv(at, size);
    }
    done += size;
  } while (done < plan.count);
}

// The reverse of hostsBroadcast: adds the data of members, then of leaders.
template <class Primitives>
void hostsReduce(Primitives& p, const HostsPlan& plan, bool isRoot, bool passesOn) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    const size_t at = plan.begin + done;
    if (isRoot) {
      p.recvReduceCopy(at, at, size, true);
    } else if (passesOn) {
      p.recvReduceSend(at, size);
    } else {
      p.send(at, size);
    }
    done += size;
  } while (done < plan.count);
}

}  // namespace jccl
