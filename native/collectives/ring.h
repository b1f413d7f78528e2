// Ring schedules, written once for every device that has the primitives.
//
// A ring passes chunks from each rank to the next. All ranks cut the data in the same way, into rounds of one chunk
// ("shard") per rank, so that every receive matches its send, also for empty chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/collective.h"
#include "primitives/layout.h"
#include "primitives/operation.h"

namespace jccl {

// One channel's share of one rank's work. Ranks on the ring are numbered by distance: `order[i]` is the rank i places
// after this one, so order[0] is this rank and order[size-1] the previous one.
struct RingPlan {
  const int* order = nullptr;
  int size = 1;
  int position = 0;       // this rank's place on the ring, counted from rank 0
  size_t chunkCount = 1;  // elements per shard and round; for all-reduce at most what fits into one step
  size_t begin = 0;       // start of this channel's `count` elements of the buffer (all-reduce, broadcast, reduce)
  size_t count = 0;
};

// Elements per rank, for the collectives in which every rank has its own part.
struct PartPlan {
  const int64_t* counts = nullptr;         // by rank; null: every rank has `uniform`
  const int64_t* displacements = nullptr;  // by rank, in the large buffer; null: rank x uniform
  size_t uniform = 0;
  size_t channel = 0, channels = 1;  // every part is divided among the channels
};

namespace ring {

JCCL_FN inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

JCCL_FN inline size_t clampTo(size_t total, size_t from, size_t max) {
  return from >= total ? 0 : smaller(total - from, max);
}

// Computes the channel's share of `total`: [begin, begin + count).
JCCL_FN inline void share(size_t total, size_t channel, size_t channels, size_t& begin, size_t& count) {
  const size_t each = channels == 1 ? total : ((total + channels - 1) / channels + 63) / 64 * 64;
  begin = smaller(total, channel * each);
  count = smaller(total - begin, each);
}

struct Part {
  size_t begin;
  size_t count;
};

// Returns the channel's share of a rank's part, counted from the start of the part. In a buffer that contains only this
// part, the share begins there.
JCCL_FN_CALL inline Part shareOfPart(const PartPlan& plan, int rank) {
  const size_t total = plan.counts == nullptr ? plan.uniform : static_cast<size_t>(plan.counts[rank]);
  Part part{};
  share(total, plan.channel, plan.channels, part.begin, part.count);
  return part;
}

// Returns the channel's share of a rank's part, counted from the start of the buffer that contains all parts.
JCCL_FN_CALL inline Part partOf(const PartPlan& plan, int rank) {
  Part part = shareOfPart(plan, rank);
  part.begin += plan.displacements == nullptr ? rank * plan.uniform : static_cast<size_t>(plan.displacements[rank]);
  return part;
}

JCCL_FN inline size_t largestPart(const PartPlan& plan, int size) {
  size_t largest = 0;
  JCCL_NO_UNROLL
  for (int rank = 0; rank < size; ++rank) {
    const size_t count = partOf(plan, rank).count;
    if (count > largest) largest = count;
  }
  return largest;
}

// Returns the chunk size of a round with `left` elements. The last round is cut evenly, so that no rank idles while
// another has a whole chunk.
JCCL_FN_CALL inline size_t evenly(size_t left, size_t ranks, size_t max) {
  return smaller(max, ((left + ranks - 1) / ranks + 15) / 16 * 16);
}

// Returns the number of pipeline steps between the starts of two rounds of an all-reduce. On a connection, at most the
// chunks of one pipeline step and one more chunk are in flight. Each chunk takes one of the connection's kSlots slots.
JCCL_FN inline size_t strideOf(int ranks) {
  constexpr size_t kMaxChunksPerPipelineStep = kSlots - 2;
  const size_t sends = 2 * (static_cast<size_t>(ranks) - 1);
  return (sends + kMaxChunksPerPipelineStep - 1) / kMaxChunksPerPipelineStep;
}

// Enumerates the actions of an all-reduce. Every round begins `stride` pipeline steps after the previous one and takes
// one action per step, up to `lastAction`. Within a step, the youngest round goes first.
class ActionSequence {
 public:
  JCCL_FN ActionSequence(size_t rounds, size_t stride, size_t lastAction)
      : rounds_(rounds), stride_(stride), lastAction_(lastAction) {}

  JCCL_FN bool done() const { return oldest_ == rounds_; }
  JCCL_FN size_t round() const { return round_; }
  JCCL_FN size_t action() const { return step_ - round_ * stride_; }

  JCCL_FN void next() {
    if (round_ > oldest_) {
      --round_;
      return;
    }
    if (step_ == oldest_ * stride_ + lastAction_) ++oldest_;
    ++step_;
    round_ = smaller(step_ / stride_, rounds_ - 1);
  }

 private:
  size_t rounds_, stride_, lastAction_;
  size_t step_ = 0;
  size_t round_ = 0;
  size_t oldest_ = 0;  // the oldest round in flight
};

}  // namespace ring

// Reduce-scatter, then all-gather: 2(n-1) hops per shard, in which each rank moves 2(n-1)/n of the data.
//
// The buffer is cut into rounds of one chunk per rank. In a round, a rank acts 2n-1 times: it sends a first shard,
// passes others on, and receives a last one. Rounds overlap: one begins every `stride` pipeline steps, and in each step
// every round in flight takes one action, the youngest round first. So a rank forwards other chunks while one is in
// flight:
//
//     2 ranks     step 0        step 1        step 2        step 3        step 4
//     round 0     send          reduce, send  receive
//     round 1                   send          reduce, send  receive
//     round 2                                 send          reduce, send  receive
//
// In each step, a rank sends in order what the next rank consumes in the next step. If that needed more slots than a
// connection has, all ranks would wait for each other; so the stride grows with the ring.
template <class Primitives>
JCCL_FN void ringAllReduce(Primitives& p, const RingPlan& plan) {
  const int n = plan.size;
  if (n == 1) {
    p.reduceCopy(plan.begin, plan.begin, plan.count);
    return;
  }
  const size_t lastAction = 2 * (n - 1);
  const size_t stride = ring::strideOf(n);
  const size_t whole = plan.chunkCount * n;
  const size_t rounds = plan.count <= whole ? 1 : (plan.count + whole - 1) / whole;
  struct Chunk {
    size_t at, size;
  };
  const auto chunkOf = [&](const ring::ActionSequence& actions) {
    const size_t round = actions.round();
    const size_t left = plan.count - round * whole;
    const size_t chunk = ring::evenly(left, n, plan.chunkCount);
    // Action 0 works on the shard of the previous rank. Each later action works on the shard whose number is one lower
    // (modulo n), so action n - 1 works on this rank's own shard.
    const int shard = static_cast<int>((plan.position + 2 * n - 1 - actions.action()) % n);
    const size_t skip = ring::smaller(left, shard * chunk);
    return Chunk{plan.begin + round * whole + skip, ring::clampTo(left, shard * chunk, chunk)};
  };
  const auto act = [&](size_t action, size_t at, size_t size) {
    if (action == 0) {
      p.send(at, size);
    } else if (action < static_cast<size_t>(n - 1)) {
      p.recvReduceSend(at, size);
    } else if (action == static_cast<size_t>(n - 1)) {
      p.recvReduceCopySend(at, at, size, true);
    } else if (action < lastAction) {
      p.recvCopySend(at, size);
    } else {
      p.recv(at, size);
    }
  };
  ring::ActionSequence actions(rounds, stride, lastAction);
  ring::ActionSequence later = actions;
  size_t received = 0;  // number of chunks received
  size_t posted = 0;    // number of receives that the loop over `later` has seen
  const bool posts = p.postsReceives();
  for (; !actions.done(); actions.next()) {
    for (; posts && !later.done() && posted < received + kSlots; later.next()) {
      if (later.action() == 0) continue;
      const Chunk chunk = chunkOf(later);
      if (later.action() >= static_cast<size_t>(n)) p.postReceive(chunk.at, chunk.size, posted - received);
      ++posted;
    }
    const Chunk chunk = chunkOf(actions);
    act(actions.action(), chunk.at, chunk.size);
    if (actions.action() > 0) ++received;
  }
}

// Every rank's part travels around the ring once.
template <class Primitives>
JCCL_FN void ringAllGather(Primitives& p, const RingPlan& plan, const PartPlan& parts) {
  const int n = plan.size;
  const ring::Part own = ring::partOf(parts, plan.order[0]);
  const size_t inputBegin = ring::shareOfPart(parts, plan.order[0]).begin;
  if (n == 1) {
    p.copy(inputBegin, own.begin, own.count);
    return;
  }
  const size_t largest = ring::largestPart(parts, n);
  size_t round = 0;
  do {
    const size_t size = ring::clampTo(own.count, round, plan.chunkCount);
    p.copySend(inputBegin + ring::smaller(own.count, round), own.begin + ring::smaller(own.count, round), size);
    JCCL_NO_UNROLL
    for (int distance = 1; distance < n; ++distance) {
      const ring::Part part = ring::partOf(parts, plan.order[n - distance]);
      const size_t at = part.begin + ring::smaller(part.count, round);
      const size_t count = ring::clampTo(part.count, round, plan.chunkCount);
      if (distance < n - 1) {
        p.recvCopySend(at, count);
      } else {
        p.recv(at, count);
      }
    }
    round += plan.chunkCount;
  } while (round < largest);
}

// Every rank's part travels around the ring, is reduced at each rank, and ends at the rank to which it belongs.
template <class Primitives>
JCCL_FN void ringReduceScatter(Primitives& p, const RingPlan& plan, const PartPlan& parts) {
  const int n = plan.size;
  const ring::Part own = ring::partOf(parts, plan.order[0]);
  const size_t outputBegin = ring::shareOfPart(parts, plan.order[0]).begin;
  if (n == 1) {
    p.reduceCopy(own.begin, outputBegin, own.count);
    return;
  }
  const size_t largest = ring::largestPart(parts, n);
  size_t round = 0;
  do {
    JCCL_NO_UNROLL
    for (int distance = 1; distance < n; ++distance) {
      const ring::Part part = ring::partOf(parts, plan.order[n - distance]);
      const size_t at = part.begin + ring::smaller(part.count, round);
      const size_t count = ring::clampTo(part.count, round, plan.chunkCount);
      if (distance == 1) {
        p.send(at, count);
      } else {
        p.recvReduceSend(at, count);
      }
    }
    const size_t done = ring::smaller(own.count, round);
    p.recvReduceCopy(own.begin + done, outputBegin + done, ring::clampTo(own.count, round, plan.chunkCount), true);
    round += plan.chunkCount;
  } while (round < largest);
}

// The root's buffer travels along the ring, as a chain that ends at the rank before the root.
template <class Primitives>
JCCL_FN void ringBroadcast(Primitives& p, const RingPlan& plan, int root) {
  const int n = plan.size;
  if (n == 1) {
    p.copy(plan.begin, plan.begin, plan.count);
    return;
  }
  const bool last = plan.order[1] == root;
  const bool first = plan.order[0] == root;
  size_t round = 0;
  do {
    const size_t at = plan.begin + round;
    const size_t size = ring::clampTo(plan.count, round, plan.chunkCount);
    if (first) {
      p.copySend(at, at, size);
    } else if (last) {
      p.recv(at, size);
    } else {
      p.recvCopySend(at, size);
    }
    round += size;
  } while (round < plan.count);
}

// The chain begins at the rank after the root. Every rank adds its buffer, and the root completes the result.
template <class Primitives>
JCCL_FN void ringReduce(Primitives& p, const RingPlan& plan, int root) {
  const int n = plan.size;
  if (n == 1) {
    p.reduceCopy(plan.begin, plan.begin, plan.count);
    return;
  }
  const bool first = plan.order[n - 1] == root;
  const bool last = plan.order[0] == root;
  size_t round = 0;
  do {
    const size_t at = plan.begin + round;
    const size_t size = ring::clampTo(plan.count, round, plan.chunkCount);
    if (last) {
      p.recvReduceCopy(at, at, size, true);
    } else if (first) {
      p.send(at, size);
    } else {
      p.recvReduceSend(at, size);
    }
    round += size;
  } while (round < plan.count);
}

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

}  // namespace jccl
