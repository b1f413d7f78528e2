// Access to multicast addresses. Each address stands for one place in the memory of every device of a multicast object;
// the switch between the devices does the work (NVLS; compute capability 9.0 or newer). The functions of memory.h
// accept no multicast address, and these functions accept no other address. They are in namespace jccl::simt, and their
// address is that of 16 aligned bytes or of a uint64_t:
//
//   Vec16 loadReduced<R>(const void*)             reads the place on every device, as loadPeer<16> would, and returns
//                                                 the switch's reduction, in no fixed order of devices; unordered with
//                                                 other accesses
//   void storeMulticast(void*, Vec16)             stores the value on every device, as storePeer<16> would, but not on
//                                                 all devices at the same moment
//   void storeMulticast(uint64_t*, uint64_t)      the same
//   void releaseMulticast(uint64_t*, uint64_t)    stores the value on every device, as storeRelease would
//   void fenceAliases()                           required once between an access by a multicast address and an access
//                                                 to the same memory by another address
//
// Sums of 16-bit floats are computed in float32.
#pragma once

#include <cstdint>

#include "cuda/device/memory.h"
#include "cuda/nvls/switch_reduction.h"

#if defined(__CUDACC__)
#include "cuda/nvls/multicast_cuda.h"
#else
#include <multicast_emulated.h>
#endif
