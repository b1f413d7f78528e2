// Schedules over a network that reduces (CollNet). The leader of each host collects the chunks of its host's ranks and
// calls the network, and results take the same way back.
//
//     direct   every rank of the host sends to the leader and receives from it
//     chain    every rank passes on to the next one towards the leader, and back
//
// Chunks overlap: while the network works on one chunk, the leader already receives the next ones from its host.
//
// `inward` leads to the leader, `outward` away from it. On a leader, `inward` writes into the memory of a slot of the
// network, and `outward` reads from such memory.
#pragma once

#include <cstddef>

#include "collectives/ring.h"

namespace jccl {

struct CollNetPlan {
  enum class Role : uint8_t { Leader, Relay, Last };  // Relay: a rank in the middle of a chain

  Role role = Role::Last;
  size_t chunkCount = 1;  // elements per step
  size_t ahead = 1;       // number of chunks in flight at once
  size_t begin = 0;
  size_t count = 0;
};

// The ranks of an all-gather or reduce-scatter. Every host has the same number of ranks, with consecutive numbers.
struct CollNetRanks {
  size_t all = 1;
  size_t ofHost = 1;
  size_t self = 0;  // this rank's place on its host
  size_t part = 0;  // elements of one rank's part
  int members = 0;  // on a leader: number of ranks that send to the leader; links are in the order of ranks

  // Returns the place on the host of a leader's member.
  size_t placeOf(int member) const {
    const auto at = static_cast<size_t>(member);
    return at < self ? at : at + 1;
  }
};

namespace coll_net {

// Calls pass(at, size, slot) for all chunks, and take(at, size, slot) for the same chunks in the same order. At most
// `ahead` chunks have been passed and not yet taken. Stops when a call returns false.
template <class Pass, class Take>
void forChunks(const CollNetPlan& plan, Pass&& pass, Take&& take) {
  const auto size = [&](size_t done) { return ring::clampTo(plan.count, done, plan.chunkCount); };
  const auto slot = [&](size_t done) { return done / plan.chunkCount % plan.ahead; };
  size_t sent = 0;
  for (size_t done = 0; done < plan.count; done += size(done)) {
    for (; sent < plan.count && sent < done + plan.ahead * plan.chunkCount; sent += size(sent)) {
      if (!pass(plan.begin + sent, size(sent), slot(sent))) return;
    }
    if (!take(plan.begin + done, size(done), slot(done))) return;
  }
}

}  // namespace coll_net

template <class Primitives, class Network>
void collNetAllReduce(Primitives& inward, Primitives& outward, Network& network, const CollNetPlan& plan) {
  using Role = CollNetPlan::Role;
  const auto pass = [&](size_t at, size_t size, size_t slot) {
    if (plan.role == Role::Leader) {
      network.fill(slot);
      inward.recvReduceCopy(at, 0, size, false);
      // The network must not receive an incomplete sum of this host.
      if (!inward.failed()) network.allReduce(slot, size);
    } else if (plan.role == Role::Relay) {
      inward.recvReduceSend(at, size);
    } else {
      inward.send(at, size);
    }
    return !inward.failed();
  };
  const auto take = [&](size_t at, size_t size, size_t slot) {
    if (plan.role == Role::Leader) {
      if (!network.await(slot, size)) return false;
      outward.copySend(0, at, size);
    } else if (plan.role == Role::Relay) {
      outward.recvCopySend(at, size);
    } else {
      outward.recv(at, size);
    }
    return !outward.failed();
  };
  coll_net::forChunks(plan, pass, take);
}

// This schedule and collNetReduceScatter are for the direct algorithm only. `plan` describes one rank's part.
template <class Primitives, class Network>
void collNetAllGather(Primitives& inward, Primitives& outward, Network& network, const CollNetPlan& plan,
                      const CollNetRanks& ranks) {
  const bool leads = plan.role == CollNetPlan::Role::Leader;
  const auto pass = [&](size_t at, size_t size, size_t slot) {
    if (!leads) {
      inward.send(at, size);
      return !inward.failed();
    }
    network.fill(slot);
    inward.copy(at, ranks.self * size, size);
    for (int member = 0; member < ranks.members; ++member) inward.recvFrom(member, ranks.placeOf(member) * size, size);
    if (!inward.failed()) network.allGather(slot, ranks.ofHost * size);
    return !inward.failed();
  };
  const auto take = [&](size_t at, size_t size, size_t slot) {
    if (leads && !network.await(slot, 0)) return false;
    for (size_t rank = 0; rank < ranks.all && !outward.failed(); ++rank) {
      if (leads) {
        outward.copySend(rank * size, rank * ranks.part + at, size);
      } else {
        outward.recv(rank * ranks.part + at, size);
      }
    }
    return !outward.failed();
  };
  coll_net::forChunks(plan, pass, take);
}

template <class Primitives, class Network>
void collNetReduceScatter(Primitives& inward, Primitives& outward, Network& network, const CollNetPlan& plan,
                          const CollNetRanks& ranks) {
  const bool leads = plan.role == CollNetPlan::Role::Leader;
  const auto pass = [&](size_t at, size_t size, size_t slot) {
    if (leads) network.fill(slot);
    for (size_t rank = 0; rank < ranks.all && !inward.failed(); ++rank) {
      const size_t in = rank * ranks.part + at;
      if (leads) {
        inward.recvReduceCopy(in, rank * size, size, false);
      } else {
        inward.send(in, size);
      }
    }
    if (leads && !inward.failed()) network.reduceScatter(slot, ranks.ofHost * size);
    return !inward.failed();
  };
  const auto take = [&](size_t at, size_t size, size_t slot) {
    if (!leads) {
      outward.recv(at, size);
      return !outward.failed();
    }
    if (!network.await(slot, ranks.ofHost * size)) return false;
    outward.copy(ranks.self * size, at, size);
    for (int member = 0; member < ranks.members; ++member) outward.sendTo(member, ranks.placeOf(member) * size, size);
    return !outward.failed();
  };
  coll_net::forChunks(plan, pass, take);
}

}  // namespace jccl
