// Conversions between float32 and floats of 16 and 8 bits as the hardware has them. With simt.h and memory.h the only
// place of the device code that touches hardware.
//
// In namespace jccl::simt; bits of a float16 ("half") or bfloat16 in a uint16_t, two of them in a uint32_t, the first one
// in the low bits:
//
//   float widenHalf(uint16_t)                 exact
//   uint32_t narrowHalves(float, float)       to nearest, ties to even; too large is infinite; subnormals as they are
//   uint32_t narrowBfloats(float, float)      the same
//
// Of the 8-bit floats (base/float8.h), one in a uint8_t, two in the lower half of a uint32_t; e5m2 is the upper byte of a
// half and is widened as one:
//
//   float widenE4m3(uint8_t)                  exact
//   uint32_t narrowE4m3s(float, float)        to nearest, ties to even; too large or infinite is the largest number
//   uint32_t narrowE5m2s(float, float)        the same
//
// Of a NaN all of them make some NaN: which one depends on the hardware; no code relies on it.
#pragma once

#if defined(__CUDACC__)
#include "cuda/device/convert_cuda.h"
#else
#include <convert_emulated.h>
#endif
