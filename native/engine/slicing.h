// How an operation is cut into steps: the same on the host and on GPUs, and on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.h"
#include "engine/operation.h"

namespace jccl {

// The bytes of a step without a size from the tuning.
inline constexpr uint32_t kDefaultStepBytes = 128 * 1024;
// A chunk is so many slices, each a step: the next rank starts on a slice while this one works on the following. Not where
// whole rounds overlap.
inline constexpr uint32_t kSlicesPerChunk = 2;

// The elements of a step that takes `capacityBytes` at most. Divides 32 bits: 64 take several times as long.
JCCL_FN inline size_t sliceCountOf(const Choice& choice, uint32_t capacityBytes, size_t elementBytes) {
  const uint32_t asked = choice.chunkBytes == 0 ? kDefaultStepBytes : choice.chunkBytes;
  const uint32_t count = (asked < capacityBytes ? asked : capacityBytes) / static_cast<uint32_t>(elementBytes);
  return count == 0 ? 1 : count;
}

// The elements of a chunk of a ring, and of what host ranks send to all.
JCCL_FN inline size_t chunkCountOf(Collective collective, size_t sliceCount) {
  const bool overlaps = collective == Collective::AllReduce || collective == Collective::Barrier;
  return sliceCount * (overlaps ? 1 : kSlicesPerChunk);
}

}  // namespace jccl
