// Marks functions that run on the host and on GPUs: the schedules, and the arithmetic on which both must agree.
#pragma once

#if defined(__CUDACC__)
#define JCCL_FN __host__ __device__
// Marks a function that GPUs call instead of inlining it, so that its code exists once however many callers it has.
#define JCCL_FN_CALL __host__ __device__ __noinline__
// Stands in front of a loop that GPUs must not unroll: its body is long, and copies of it gain nothing.
#define JCCL_NO_UNROLL _Pragma("unroll 1")
#else
#define JCCL_FN
#define JCCL_FN_CALL
#define JCCL_NO_UNROLL
#endif
