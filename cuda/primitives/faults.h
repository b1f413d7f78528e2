// Faults that tests build into the primitives. The library's kernels use NoFaults; tests use another type in its place,
// and the emulator must detect the fault.
#pragma once

namespace jccl::device {

struct NoFaults {
  static constexpr bool kSkipsFence = false;       // publishes and frees slots without a fence
  static constexpr bool kMiscountsCredit = false;  // takes one slot more than the receiver has freed
  static constexpr bool kSkipsEmptySteps = false;  // publishes nothing if there is nothing to send
  static constexpr bool kDivergesAtLines = false;  // lanes diverge before an LL128 store
  // If true, losesElement() and dropsFlag() choose the fault at run time; see cuda/test/mutated/mutations.h.
  static constexpr bool kSwitched = false;
};

}  // namespace jccl::device
