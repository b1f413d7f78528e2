// What a rank's plug-in offers of collective operations in the network, and what all ranks have in common.
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
  // Of more devices than this a rank uses no more.
  static constexpr int kMaxDevices = 16;

  std::string plugin;
  int devices = 0;
  bool gathers = false;
  std::array<uint8_t, kDataTypeCount> reductions{};  // by type: a bit for each ReduceOp
  size_t maxBytes = 0;                               // of one operation
  uint32_t speedMbps = 0;                            // of all devices
  float latencyMicros = 0;

  bool reduces(DataType type, ReduceOp op) const {
    return (reductions[static_cast<size_t>(type)] >> static_cast<int>(op) & 1) != 0;
  }

  std::vector<uint8_t> encode() const;
  static Status decode(std::span<const uint8_t> wire, CollNetOffer* offer);

  // What all can do, of offers by rank; an error names the rank that cannot.
  static Status common(std::span<const std::vector<uint8_t>> offers, CollNetOffer* common);
};

// How many bytes of a rank may go into one operation of a network that takes `maxBytes`, where it is on those of so many ranks; 0:
// not one element. It is on 4 MiB at most, so that its memory stays small, or on an element of each rank.
inline size_t collNetChunkBytes(size_t maxBytes, int ranks, size_t elementBytes) {
  const size_t each = elementBytes * static_cast<size_t>(ranks);
  return std::min(maxBytes, std::max(size_t{4} << 20, each)) / each * elementBytes;
}

}  // namespace jccl
