// The CollNet abilities that a rank's plug-in offers, and those that all ranks have in common.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/types.h"

namespace jccl {

struct CollNetOffer {
  // A plug-in with more devices than this is refused.
  static constexpr int kMaxDevices = 16;

  std::string plugin;
  int devices = 0;
  bool gathers = false;
  std::array<uint8_t, kDataTypeCount> reductions{};  // for each DataType, a bit for each ReduceOp
  size_t maxBytes = 0;                               // largest size of one operation
  uint32_t speedMbps = 0;                            // sum of the speeds of all devices
  float latencyMicros = 0;

  bool reduces(DataType type, ReduceOp op) const {
    return (reductions[static_cast<size_t>(type)] >> static_cast<int>(op) & 1) != 0;
  }

  std::vector<uint8_t> encode() const;
  static Status decode(std::span<const uint8_t> wire, CollNetOffer* offer);

  // Combines the offers, which are indexed by rank, into the abilities that all ranks have in common. An error names
  // the rank whose offer does not fit the others.
  static Status common(std::span<const std::vector<uint8_t>> offers, CollNetOffer* common);
};

// Returns how many bytes of each rank one operation of `ranks` ranks can process, if the network accepts `maxBytes`; 0:
// not even one element. An operation is limited to 4 MiB, so that its memory stays small, or to one element of each
// rank if that is more.
inline size_t collNetChunkBytes(size_t maxBytes, int ranks, size_t elementBytes) {
  const size_t each = elementBytes * static_cast<size_t>(ranks);
  return std::min(maxBytes, std::max(size_t{4} << 20, each)) / each * elementBytes;
}

}  // namespace jccl
