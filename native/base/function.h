// Functions that run on the host and on GPUs: the schedules, and what they must agree on.
#pragma once

#if defined(__CUDACC__)
#define JCCL_FN __host__ __device__
#else
#define JCCL_FN
#endif
