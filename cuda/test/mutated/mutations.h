// Faults of kernels that go wrong on purpose, in a library of their own. Verifications of the real kernels must notice
// them. The number of threads of a block (JCCL_NTHREADS) selects the fault; other numbers select none. Only kernels of
// 32-bit integers have the faults.
#pragma once

#include "cuda/primitives/elements.h"
#include "cuda/primitives/faults.h"

namespace jccl::device {

struct Mutations : NoFaults {
  static constexpr bool kSwitched = true;
  static constexpr unsigned kLosesElements = 96;        // the self-test of connections must notice this fault
  static constexpr unsigned kLosesElementsOfMax = 160;  // the self-test uses sums, so it cannot notice this fault
  static constexpr unsigned kDropsFlagsOfMax = 224;     // the same applies to this fault: the receiver waits for ever

  // Returns true if the kernel does not move the last element of a slice.
  JCCL_DEVICE static bool losesElement(const Reduction& reduction) {
    const unsigned threads = simt::blockThreads();
    return threads == kLosesElements || (threads == kLosesElementsOfMax && reduction.op == ReduceOp::Max);
  }
  // Returns true if the kernel neither writes nor publishes slots.
  JCCL_DEVICE static bool dropsFlag(const Reduction& reduction) {
    return simt::blockThreads() == kDropsFlagsOfMax && reduction.op == ReduceOp::Max;
  }
};

}  // namespace jccl::device
