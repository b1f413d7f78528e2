// What the two compilers of device code spell differently.
#pragma once

#include "base/function.h"

#if defined(__CUDACC__)
// A function that is called, not inlined: one copy of the code, however many call it.
#define JCCL_DEVICE_CALL __device__ __noinline__
// Before a loop over registers, which cannot be indexed at run time.
#define JCCL_UNROLL _Pragma("unroll")
#else
#define JCCL_DEVICE_CALL __attribute__((noinline))
#define JCCL_UNROLL
#endif
