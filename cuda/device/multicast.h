// Multicast addresses: each stands for one place in the memory of every device of a team, and the switch between them does the
// work (NVLS; compute capability 9.0 or newer). What memory.h has takes no such address, and these functions no other. In
// namespace jccl::simt; multicast addresses of 16 aligned bytes, or of a uint64_t:
//
//   Vec16 loadReduced<R>(const void*)             what is there in every device's memory, reduced by the switch: in no fixed
//                                                 order, unordered with other accesses, each place as loadPeer<16> sees it
//   void storeMulticast(void*, Vec16)             the same value to every device's memory, there as storePeer<16>; no two of
//                                                 them at one moment
//   void storeMulticast(uint64_t*, uint64_t)      the same
//   void releaseMulticast(uint64_t*, uint64_t)    in every device's memory as storeRelease
//   void fenceAliases()                           between accesses by a multicast address and others to the same memory: once
//                                                 on the way from one to the other
//
// Sums of 16-bit floats are computed in float32.
#pragma once

#include <cstdint>

#include "cuda/device/memory.h"

namespace jccl::simt {

enum class SwitchReduction : uint8_t {
  SumInt32,
  SumInt64,
  MinInt32,
  MinUint32,
  MinInt64,
  MinUint64,
  MaxInt32,
  MaxUint32,
  MaxInt64,
  MaxUint64,
  And,
  Or,
  Xor,
  SumFloat16,
  SumBfloat16,
  SumFloat32,
  SumFloat64,
};

}  // namespace jccl::simt

#if defined(__CUDACC__)
#include "cuda/device/multicast_cuda.h"
#else
#include <multicast_emulated.h>
#endif
