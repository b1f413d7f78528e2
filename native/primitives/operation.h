// What the primitives must know of the operation they move data for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.h"
#include "primitives/reduce.h"

namespace jccl {

struct Transfer {
  const uint8_t* input = nullptr;  // own send buffer
  uint8_t* output = nullptr;       // own receive buffer
  size_t elementBytes = 1;
  size_t sliceCount = 1;  // elements per step, at most a slot's payload
  ReduceCopyFn reduce = nullptr;
  PostOp post;  // applied by the call that finishes a chunk
  uint32_t fingerprint = 0;
  bool streamingSlots = false;  // chunks are written into peers' slots past the caches
  bool streaming = false;       // the output is too large to be worth caching
  bool zeroCopy = false;        // SIMPLE chunks go between user memory and the network without a copy in slots
};

}  // namespace jccl
