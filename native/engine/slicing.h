// Divides an operation into steps: in the same way on hosts and GPUs, and on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.h"
#include "engine/operation.h"

namespace jccl {

// Size of a step in bytes if the choice sets no size.
inline constexpr uint32_t kDefaultStepBytes = 128 * 1024;
// Slices in a chunk. Each slice is a step, so that the next rank can process one slice while this rank processes the
// following one. Collectives whose successive rounds overlap need only one slice.
inline constexpr uint32_t kSlicesPerChunk = 2;

// Returns the number of elements of a step, which has at most `capacityBytes`. Divides 32-bit numbers, because a 64-bit
// division takes several times as long.
JCCL_FN inline size_t sliceCountOf(const Choice& choice, uint32_t capacityBytes, size_t elementBytes) {
  const uint32_t asked = choice.chunkBytes == 0 ? kDefaultStepBytes : choice.chunkBytes;
  const uint32_t count = (asked < capacityBytes ? asked : capacityBytes) / static_cast<uint32_t>(elementBytes);
  return count == 0 ? 1 : count;
}

// Returns the number of elements of a chunk of a ring, or of a chunk of the direct algorithm on the host.
JCCL_FN inline size_t chunkCountOf(Collective collective, size_t sliceCount) {
  const bool overlaps = collective == Collective::AllReduce || collective == Collective::Barrier;
  return sliceCount * (overlaps ? 1 : kSlicesPerChunk);
}

}  // namespace jccl
