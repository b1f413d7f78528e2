// Kernels that go wrong on purpose, in a library of their own: whoever verifies the real ones has to notice. How many threads
// a block has (JCCL_NTHREADS) says what goes wrong; by any other number nothing does. Elements are integers of 32 bits.
#pragma once

#include "cuda/primitives/elements.h"
#include "cuda/primitives/faults.h"

namespace jccl::device {

struct Mutations : NoFaults {
  static constexpr bool kSwitched = true;
  static constexpr unsigned kLosesElements = 96;        // which the self-test of connections has to notice
  static constexpr unsigned kLosesElementsOfMax = 160;  // not in a self-test, which adds up
  static constexpr unsigned kDropsFlagsOfMax = 224;     // neither, and the receiver waits

  // The last element of a slice is not moved.
  JCCL_DEVICE static bool losesElement(const Reduction& reduction) {
    const unsigned threads = simt::blockThreads();
    return threads == kLosesElements || (threads == kLosesElementsOfMax && reduction.op == ReduceOp::Max);
  }
  // Nothing is written into slots or published.
  JCCL_DEVICE static bool dropsFlag(const Reduction& reduction) {
    return simt::blockThreads() == kDropsFlagsOfMax && reduction.op == ReduceOp::Max;
  }
};

}  // namespace jccl::device
