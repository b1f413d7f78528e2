// Conversions between float32 and floats of 16 and 8 bits, by hardware instructions where the GPU has them. Only
// simt.h, memory.h, multicast.h and this header touch hardware; all other device code is built on them.
//
// Functions in namespace jccl::simt. A float16 ("half") or bfloat16 is in a uint16_t; two of them are in a uint32_t,
// the first in the low bits:
//
//   float widenHalf(uint16_t)                 exact
//   uint32_t narrowHalves(float, float)       to nearest, ties to even; too large: infinity; keeps subnormals
//   uint32_t narrowBfloats(float, float)      the same
//
// An 8-bit float (base/float8.h) is in a uint8_t; two of them are in the lower half of a uint32_t. e5m2 is the upper
// byte of a half, and is widened as one:
//
//   float widenE4m3(uint8_t)                  exact
//   uint32_t narrowE4m3s(float, float)        to nearest, ties to even; too large or infinite: the largest number
//   uint32_t narrowE5m2s(float, float)        the same
//
// The result for a NaN depends on the hardware: some NaN, or the largest number if a GPU without instructions for 8-bit
// floats narrows to them. No code relies on this result.
#pragma once

#if defined(__CUDACC__)
#include "cuda/device/convert_cuda.h"
#else
#include <convert_emulated.h>
#endif
