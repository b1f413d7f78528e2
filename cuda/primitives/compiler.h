// Keywords that the two compilers of device code spell differently.
#pragma once

#include "base/function.h"

#if defined(__CUDACC__)
// Marks a function that is called, not inlined: the code exists once, however many places call it.
#define JCCL_DEVICE_CALL __device__ __noinline__
// Unrolls the loop that follows. Loops over registers need it, because registers cannot be indexed at run time.
#define JCCL_UNROLL _Pragma("unroll")
#else
#define JCCL_DEVICE_CALL __attribute__((noinline))
#define JCCL_UNROLL
#endif
