// Schedules along the chain of a host's ranks to a network that reduces, for GPU kernels. Each rank passes chunks on to
// the next rank towards the leader, and results back; the leader passes chunks on to the network. An all-reduce uses
// the schedule of a tree (collectives/tree.h).
//
// All-gathers and reduce-scatters require that every host has the same number of ranks, with consecutive numbers. One
// step moves part of one rank's data, in the order of the ranks:
//
//                       towards the network                         back
//     all_gather        data of a rank and the ranks below it       data of all ranks
//     reduce_scatter    data of all ranks, reduced on the way       data of a rank and the ranks below it
#pragma once

#include <cstddef>

#include "primitives/operation.h"

namespace jccl {

struct ChainPlan {
  bool last = false;  // no rank is below this one
  int ranks = 1;      // number of ranks from this one downwards
  int place = 0;      // place of this rank among those ranks, by rank number
  int all = 1;        // number of ranks on all hosts
  size_t part = 0;    // elements of one rank's part
  size_t chunkCount = 1;
  size_t begin = 0;
  size_t count = 0;
};

// Number of chunks that a rank passes on before it expects the first one back: the network works on several chunks at
// once.
inline constexpr size_t kChainLag = 3;

namespace chain {

// Calls pass(at, size) for all chunks and take(at, size) for the same chunks, kChainLag chunks later.
template <class Pass, class Take>
JCCL_FN void forChunks(const ChainPlan& plan, Pass&& pass, Take&& take) {
  const size_t chunks = plan.count == 0 ? 1 : (plan.count + plan.chunkCount - 1) / plan.chunkCount;
  const auto size = [&](size_t chunk) {
    const size_t left = plan.count - chunk * plan.chunkCount;
    return left < plan.chunkCount ? left : plan.chunkCount;
  };
  const size_t lag = chunks < kChainLag ? chunks : kChainLag;
  JCCL_NO_UNROLL
  for (size_t step = 0; step < chunks + lag; ++step) {
    if (step < chunks) pass(plan.begin + step * plan.chunkCount, size(step));
    if (step >= lag) take(plan.begin + (step - lag) * plan.chunkCount, size(step - lag));
  }
}

}  // namespace chain

// `up` receives from below and sends towards the network; `down` receives from the network's side and sends below.
template <class Primitives>
JCCL_FN void chainAllGather(Primitives& up, Primitives& down, const ChainPlan& plan) {
  const auto pass = [&](size_t at, size_t size) {
    JCCL_NO_UNROLL
    for (int i = 0; i < plan.ranks; ++i) {
      if (i == plan.place) {
        up.send(at, size);
      } else {
        up.recvSend(size);
      }
    }
  };
  const auto take = [&](size_t at, size_t size) {
    JCCL_NO_UNROLL
    for (int rank = 0; rank < plan.all; ++rank) {
      const size_t to = static_cast<size_t>(rank) * plan.part + at;
      if (plan.last) {
        down.recv(to, size);
      } else {
        down.recvCopySend(to, size);
      }
    }
  };
  chain::forChunks(plan, pass, take);
}

template <class Primitives>
JCCL_FN void chainReduceScatter(Primitives& up, Primitives& down, const ChainPlan& plan) {
  const auto pass = [&](size_t at, size_t size) {
    JCCL_NO_UNROLL
    for (int rank = 0; rank < plan.all; ++rank) {
      const size_t from = static_cast<size_t>(rank) * plan.part + at;
      if (plan.last) {
        up.send(from, size);
      } else {
        up.recvReduceSend(from, size);
      }
    }
  };
  const auto take = [&](size_t at, size_t size) {
    JCCL_NO_UNROLL
    for (int i = 0; i < plan.ranks; ++i) {
      if (i == plan.place) {
        down.recv(at, size);
      } else {
        down.recvSend(size);
      }
    }
  };
  chain::forChunks(plan, pass, take);
}

}  // namespace jccl
