// How the kernels of the library are loaded.
#pragma once

namespace jccl::device {

// The part of a multiprocessor's memory that is shared memory, in percent of the largest, the same for all kernels: a
// multiprocessor changes it only while it runs nothing, so that one kernel could wait for another that spins. Half has a block
// of any kernel even on capability 7.5, with 64 KiB, and leaves the other half to the cache.
constexpr int kSharedCarveout = 50;

}  // namespace jccl::device
