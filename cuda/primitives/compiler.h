// What the two compilers of device code spell differently.
#pragma once

#if defined(__CUDACC__)
// A function that is called, not inlined: one copy of the code, however many call it.
#define JCCL_DEVICE_CALL __device__ __noinline__
// Before a loop over registers, which cannot be indexed at run time.
#define JCCL_UNROLL _Pragma("unroll")
// Before a loop that stays one: its body is long, and nothing is gained by having it many times.
#define JCCL_NO_UNROLL _Pragma("unroll 1")
#else
#define JCCL_DEVICE_CALL __attribute__((noinline))
#define JCCL_UNROLL
#define JCCL_NO_UNROLL
#endif
