// What the primitives may do wrong on purpose. The library's kernels use NoFaults; tests put one of the others in its place
// and must see the emulator catch it.
#pragma once

namespace jccl::device {

struct NoFaults {
  static constexpr bool kSkipsFence = false;       // publishes and frees slots without a fence
  static constexpr bool kMiscountsCredit = false;  // takes one slot more than the receiver has freed
  static constexpr bool kSkipsEmptySteps = false;  // publishes nothing where there is nothing to send
  static constexpr bool kDivergesAtLines = false;  // lanes come apart before an LL128 store
  // Has losesElement() and dropsFlag(), which say at run time what goes wrong; see cuda/test/mutations.h.
  static constexpr bool kSwitched = false;
};

}  // namespace jccl::device
