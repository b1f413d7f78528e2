// The facts about an operation that the primitives need to move its data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.h"
#include "primitives/reduce.h"
#include "primitives/wire_format.h"

namespace jccl {

struct Transfer {
  const uint8_t* input = nullptr;  // own send buffer
  uint8_t* output = nullptr;       // own receive buffer
  size_t elementBytes = 1;
  size_t sliceCount = 1;  // elements per step, at most a slot's payload
  ReduceCopyFn reduce = nullptr;
  PostOp post;  // applied by the call that completes a chunk
  uint32_t fingerprint = 0;
  bool streamingSlots = false;  // writes chunks into peers' slots with non-temporal stores, past the caches
  bool streaming = false;       // writes the output past the caches: it is too large to be worth caching
  // for WirePrimitives: how chunks that cross hosts are narrowed, and whether a step that stores and sends a result
  // stores it rounded
  const Narrowing* narrowing = nullptr;
  bool roundsStored = true;
  bool zeroCopy = false;  // SIMPLE chunks move between user memory and the network without a copy in slots
};

}  // namespace jccl
