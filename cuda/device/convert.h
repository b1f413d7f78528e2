// Conversions between float32 and 16-bit floats as the hardware has them. With simt.h and memory.h the only place of the
// device code that touches hardware.
//
// In namespace jccl::simt; bits of a float16 ("half") or bfloat16 in a uint16_t, two of them in a uint32_t, the first one
// in the low bits:
//
//   float widenHalf(uint16_t)                 exact
//   uint32_t narrowHalves(float, float)       to nearest, ties to even; too large is infinite; subnormals as they are
//   uint32_t narrowBfloats(float, float)      the same
//
// Of a NaN all of them make some NaN: which one is the hardware's own affair, and not ours to rely on.
#pragma once

#if defined(__CUDACC__)
#include "cuda/device/convert_cuda.h"
#else
#include <convert_emulated.h>
#endif
