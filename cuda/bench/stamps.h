// Kernels that note the time at which each block passes its points. Only the benchmark has them.
#pragma once

#include "cuda/bench/stamp_table.h"
#include "cuda/primitives/faults.h"

namespace jccl::bench {

#ifdef __CUDACC__
// Defined here, because nvcc takes each file of kernels for a whole program.
extern "C" {
__device__ Stamps jccl_stamps;
}
JCCL_DEVICE Stamps& stamps() { return jccl_stamps; }
#else
Stamps& stamps();
#endif

struct Stamped : device::NoFaults {
  JCCL_DEVICE static void pass(device::KernelPoint point, int rank) {
    if (simt::threadIndex() != 0 || rank >= kStampRanks || simt::blockIndex() >= kStampBlocks) return;
    stamps().nanos[rank][simt::blockIndex()][static_cast<int>(point)] = simt::nanos();
  }
};

}  // namespace jccl::bench
