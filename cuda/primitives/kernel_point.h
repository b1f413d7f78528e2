// The points at which a benchmark notes the time (cuda/bench).
#pragma once

namespace jccl::device {

// Points of a kernel, in the order in which a block passes them.
enum class KernelPoint : int {
  Entry = 0,
  HostWords = 1,  // the block has read its words of host memory
  Met = 2,        // in place: it has met the same block of the peers; else: it knows its connections
  Moved = 3,
  End = 4,  // the work has ended, for operations in place after the second meeting
};
constexpr int kKernelPoints = 5;

}  // namespace jccl::device
