// The shape of connections that carry only sends, receives and all-to-alls between kernels of GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.h"
#include "primitives/layout.h"

namespace jccl {

// The maximum size of an exchange's chunk. Connections that only exchanges use have SIMPLE slots of at most this size.
constexpr uint32_t kMaxChunkBytes = 96 * 1024;
constexpr uint32_t kMinChunkBytes = 6 * 1024;
// An estimate of what a rank can spare for the connections of one channel with all ranks: the slots of both directions
// together take about twice this size. Slots are smaller from 171 ranks on.
constexpr size_t kExchangeBytes = size_t{128} << 20;

// Returns the shape of the connections of `ranks` ranks that carry only exchanges. `shape` is that of the others. LL and
// LL128 have the smallest slots, because networks need buffers of each protocol.
JCCL_FN inline ConnectionShape exchangeShape(const ConnectionShape& shape, int ranks) {
  uint32_t slot = kMaxChunkBytes;
  while (slot > kMinChunkBytes && size_t{slot} * kSlots * static_cast<size_t>(ranks) > kExchangeBytes) slot /= 2;
  return ConnectionShape(shape.simpleSlotBytes() < slot ? shape.simpleSlotBytes() : slot, 128, 128);
}

}  // namespace jccl
