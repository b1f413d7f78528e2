// Counts the calls that a thread makes to the emulated driver, by the names of NVIDIA's functions.
#pragma once

#include <cstdint>
#include <string>

#include "cuda/driver/driver_api.h"

namespace jccl::emulator {

// The thread's calls since reset(), and its nesting in calls.
class CallCounts {
 public:
  static constexpr int kCalls = 0
#define JCCL_COUNT_CALL(member, name, version, need, parameters) +1
      JCCL_DRIVER_CALLS(JCCL_COUNT_CALL)
#undef JCCL_COUNT_CALL
      ;

  static CallCounts& ofThisThread();
  void reset() { *this = {}; }
  uint64_t total() const;
  // Formats the calls in the order of driver_api.h, with a factor if a call was made more than once:
  // "cuCtxPushCurrent, 2 cuEventQuery". Empty if there were none.
  std::string text() const;
  // Returns true while the thread is inside a call. What a real driver allocates is not this library's cost.
  bool isInside() const { return depth_ != 0; }

 private:
  template <auto Function, int Index>
  friend struct CountedCall;

  uint64_t counts_[kCalls] = {};
  int depth_ = 0;
};

// A function of the emulated driver that counts its calls. `Index` is the place of the function in driver_api.h.
template <auto Function, int Index>
struct CountedCall;
template <class... Parameters, driver::Result (*Function)(Parameters...), int Index>
struct CountedCall<Function, Index> {
  static driver::Result call(Parameters... parameters) {
    CallCounts& counts = CallCounts::ofThisThread();
    ++counts.counts_[Index];
    ++counts.depth_;
    const driver::Result result = Function(parameters...);
    --counts.depth_;
    return result;
  }
};

}  // namespace jccl::emulator
