// Faults and observations that tests and benchmarks build into the kernels. The library's kernels use NoFaults. Tests
// use another type in its place, and the emulator must detect the fault. A benchmark notes when a kernel passes its
// points (cuda/bench).
#pragma once

#include "cuda/device/simt.h"
#include "cuda/primitives/kernel_point.h"

namespace jccl::device {

struct NoFaults {
  static constexpr bool kSkipsFence = false;       // publishes and frees slots without a fence
  static constexpr bool kMiscountsCredit = false;  // takes one slot more than the receiver has freed
  static constexpr bool kSkipsEmptySteps = false;  // publishes nothing if there is nothing to send
  static constexpr bool kDivergesAtLines = false;  // lanes diverge before an LL128 store
  // If true, losesElement() and dropsFlag() choose the fault at run time; see cuda/test/mutated/mutations.h.
  static constexpr bool kSwitched = false;

  JCCL_DEVICE static void pass(KernelPoint, int /*rank*/) {}
};

}  // namespace jccl::device
