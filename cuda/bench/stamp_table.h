// The times that kernels with stamps note.
#pragma once

#include <cstdint>

#include "cuda/primitives/kernel_point.h"

namespace jccl::bench {

constexpr int kStampRanks = 8, kStampBlocks = 64;

// The last launch's times in ns, by rank, block and point; ranks share the table because they share the device.
struct Stamps {
  uint64_t nanos[kStampRanks][kStampBlocks][device::kKernelPoints];
};

}  // namespace jccl::bench
