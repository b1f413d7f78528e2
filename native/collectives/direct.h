// Direct schedules: one hop through the slots, in which every rank sends to every rank that needs its data.
//
// They move more bytes than a ring, but need fewer messages one after the other, so they are best for small sizes on
// one host. The links join this rank with all others, in rank order. Reductions run in rank order on every rank, so all
// ranks end with the same bits.
#pragma once

#include <cstddef>

#include "collectives/ring.h"
#include "primitives/operation.h"

namespace jccl {

struct DirectPlan {
  int rank = 0;
  int size = 1;
  size_t chunkCount = 1;  // elements per step
  size_t ahead = 1;       // number of chunks by which sends run ahead of receives (all-reduce)
  size_t begin = 0;
  size_t count = 0;

  // Convert between the index of a link and the rank to which it leads.
  JCCL_FN int peerOf(int index) const { return index < rank ? index : index + 1; }
  JCCL_FN int linkOf(int peer) const { return peer < rank ? peer : peer - 1; }
};

// Sends run ahead of receives, so that peers find their next chunk ready.
template <class Primitives>
JCCL_FN void directAllReduce(Primitives& p, const DirectPlan& plan) {
  const auto size = [&](size_t done) { return ring::clampTo(plan.count, done, plan.chunkCount); };
  size_t sent = 0;
  const auto sendNext = [&] {
    const size_t next = size(sent);
    p.send(plan.begin + sent, next);
    sent += next;
  };
  sendNext();
  size_t done = 0;
  do {
    while (sent < plan.count && sent <= done + plan.ahead * plan.chunkCount) sendNext();
    p.recvReduceCopy(plan.begin + done, plan.begin + done, size(done), true);
    done += size(done);
  } while (done < plan.count);
}

// Two hops: every rank reduces one shard of all ranks' data and sends the result to all. A round has one chunk per
// rank; the first hop of a round precedes the second hop of the previous round.
template <class Primitives>
JCCL_FN void directAllReduceTwoShot(Primitives& p, const DirectPlan& plan) {
  const size_t n = static_cast<size_t>(plan.size);
  const size_t whole = plan.chunkCount * n;
  const size_t rounds = plan.count <= whole ? 1 : (plan.count + whole - 1) / whole;
  const auto shardOf = [&](size_t round, int rank) {
    const size_t left = plan.count - round * whole;
    const size_t chunk = ring::evenly(left, n, plan.chunkCount);
    const size_t skip = ring::smaller(left, rank * chunk);
    return ring::Part{plan.begin + round * whole + skip, ring::clampTo(left, skip, chunk)};
  };
  for (size_t round = 0; round <= rounds; ++round) {
    if (round < rounds) {
      JCCL_NO_UNROLL
      for (int link = 0; link < plan.size - 1; ++link) {
        const ring::Part part = shardOf(round, plan.peerOf(link));
        p.sendTo(link, part.begin, part.count);
      }
    }
    if (round > 0) {
      JCCL_NO_UNROLL
      for (int link = 0; link < plan.size - 1; ++link) {
        const ring::Part part = shardOf(round - 1, plan.peerOf(link));
        p.recvFrom(link, part.begin, part.count);
      }
    }
    if (round < rounds) {
      const ring::Part own = shardOf(round, plan.rank);
      p.recvReduceCopySend(own.begin, own.begin, own.count, true);
    }
  }
}

template <class Primitives>
JCCL_FN void directAllGather(Primitives& p, const DirectPlan& plan, const PartPlan& parts) {
  const ring::Part own = ring::partOf(parts, plan.rank);
  const ring::Part input = ring::shareOfPart(parts, plan.rank);
  const size_t largest = ring::largestPart(parts, plan.size);
  size_t done = 0;
  do {
    const size_t skip = ring::smaller(own.count, done);
    const size_t size = ring::clampTo(own.count, done, plan.chunkCount);
    p.copySend(input.begin + skip, own.begin + skip, size);
    JCCL_NO_UNROLL
    for (int link = 0; link < plan.size - 1; ++link) {
      const ring::Part part = ring::partOf(parts, plan.peerOf(link));
      p.recvFrom(link, part.begin + ring::smaller(part.count, done), ring::clampTo(part.count, done, plan.chunkCount));
    }
    done += plan.chunkCount;
  } while (done < largest);
}

template <class Primitives>
JCCL_FN void directReduceScatter(Primitives& p, const DirectPlan& plan, const PartPlan& parts) {
  const ring::Part own = ring::partOf(parts, plan.rank);
  const ring::Part output = ring::shareOfPart(parts, plan.rank);
  const size_t largest = ring::largestPart(parts, plan.size);
  size_t done = 0;
  do {
    JCCL_NO_UNROLL
    for (int link = 0; link < plan.size - 1; ++link) {
      const ring::Part part = ring::partOf(parts, plan.peerOf(link));
      p.sendTo(link, part.begin + ring::smaller(part.count, done), ring::clampTo(part.count, done, plan.chunkCount));
    }
    const size_t skip = ring::smaller(own.count, done);
    p.recvReduceCopy(own.begin + skip, output.begin + skip, ring::clampTo(own.count, done, plan.chunkCount), true);
    done += plan.chunkCount;
  } while (done < largest);
}

template <class Primitives>
JCCL_FN void directBroadcast(Primitives& p, const DirectPlan& plan, int root) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    if (plan.rank == root) {
      p.copySend(plan.begin + done, plan.begin + done, size);
    } else {
      p.recvFrom(plan.linkOf(root), plan.begin + done, size);
    }
    done += size;
  } while (done < plan.count);
}

template <class Primitives>
JCCL_FN void directReduce(Primitives& p, const DirectPlan& plan, int root) {
  size_t done = 0;
  do {
    const size_t size = ring::clampTo(plan.count, done, plan.chunkCount);
    if (plan.rank == root) {
      p.recvReduceCopy(plan.begin + done, plan.begin + done, size, true);
    } else {
      p.sendTo(plan.linkOf(root), plan.begin + done, size);
    }
    done += size;
  } while (done < plan.count);
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
