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
  PostOp post;  // applied by the call that finishes a piece
  uint32_t fingerprint = 0;
  bool streamingSlots = false;  // pieces are written into peers' slots past the caches
  bool streaming = false;       // the output is too large to be worth caching
  bool lends = false;           // SIMPLE pieces go between user memory and the network without a stop in slots
};

}  // namespace jccl
