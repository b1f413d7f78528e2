// Kernels that a file of kernels has to contain so that it can be loaded, and that benchmarks do not launch.
#pragma once

#define JCCL_NO_KERNEL(name, Launch) \
  extern "C" __global__ void name(const __grid_constant__ Launch) { __trap(); }

// Defines the kernels `name`_ELEMENT of all elements but float32.
#define JCCL_NO_OTHER_KERNELS(name, Launch)  \
  JCCL_NO_KERNEL(name##_int8, Launch)        \
  JCCL_NO_KERNEL(name##_int32, Launch)       \
  JCCL_NO_KERNEL(name##_int64, Launch)       \
  JCCL_NO_KERNEL(name##_float16, Launch)     \
  JCCL_NO_KERNEL(name##_bfloat16, Launch)    \
  JCCL_NO_KERNEL(name##_float64, Launch)     \
  JCCL_NO_KERNEL(name##_float8_e4m3, Launch) \
  JCCL_NO_KERNEL(name##_float8_e5m2, Launch)
