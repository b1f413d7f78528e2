// The tree schedule of all-reduce, written once for every device that has the primitives.
#pragma once

#include <cstddef>

#include "primitives/operation.h"

namespace jccl {

// One channel's share of one rank's work in a tree.
struct TreePlan {
  bool root = false;
  bool leaf = false;
  size_t chunkCount = 1;  // elements per step
  size_t begin = 0;
  size_t count = 0;
};

// Number of chunks that a rank sends up before it expects the first one back, so that deep trees stay busy. This number
// is less than the number of slots, so no rank can wait for itself.
inline constexpr size_t kTreeLag = 6;

// Sums go up, results come down. `up` receives from the children and sends to the parent; at the root it sends to the
// children instead. `down` receives from the parent and sends to the children. Every rank adds its children in the
// order of its links, and only the root completes a chunk, so all ranks end with the same bits.
template <class Primitives>
JCCL_FN void treeAllReduce(Primitives& up, Primitives& down, const TreePlan& plan) {
  const size_t chunks = plan.count == 0 ? 1 : (plan.count + plan.chunkCount - 1) / plan.chunkCount;
  const auto at = [&](size_t chunk) { return plan.begin + chunk * plan.chunkCount; };
  const auto size = [&](size_t chunk) {
    const size_t left = plan.count - chunk * plan.chunkCount;
    return left < plan.chunkCount ? left : plan.chunkCount;
  };
  if (plan.root) {
    JCCL_NO_UNROLL
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      if (plan.leaf) {
        up.reduceCopy(at(chunk), at(chunk), size(chunk));  // a tree of one rank
      } else {
        up.recvReduceCopySend(at(chunk), at(chunk), size(chunk), true);
      }
    }
    return;
  }
  const size_t lag = chunks < kTreeLag ? chunks : kTreeLag;
  JCCL_NO_UNROLL
  for (size_t step = 0; step < chunks + lag; ++step) {
    if (step < chunks) {
      if (plan.leaf) {
        up.send(at(step), size(step));
      } else {
        up.recvReduceSend(at(step), size(step));
      }
    }
    if (step >= lag) {
      if (plan.leaf) {
        down.recv(at(step - lag), size(step - lag));
      } else {
        down.recvCopySend(at(step - lag), size(step - lag));
      }
    }
  }
}

}  // namespace jccl
