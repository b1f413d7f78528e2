// Functions that run on the host and on GPUs: the schedules, and what they must agree on.
#pragma once

#if defined(__CUDACC__)
#define JCCL_FN __host__ __device__
// On GPUs called, not inlined: one copy of the code, however many call it.
#define JCCL_FN_CALL __host__ __device__ __noinline__
// Before a loop that stays one on GPUs: its body is long, and nothing is gained by having it many times.
#define JCCL_NO_UNROLL _Pragma("unroll 1")
#else
#define JCCL_FN
#define JCCL_FN_CALL
#define JCCL_NO_UNROLL
#endif
