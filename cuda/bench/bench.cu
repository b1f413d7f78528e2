// The registry names kernels of a family by classes of elements; here these stand for the sizes of the arguments.
#include "cuda/bench/bench_kernels.h"

#define JCCL_BENCH_KERNEL(name, Type)                                                             \
  extern "C" __global__ void jccl_bench_##name(const __grid_constant__ jccl::bench::Type given) { \
    if (given.word != nullptr) {                                                                  \
      *reinterpret_cast<volatile uint32_t*>(given.word) = given.value;                            \
      __threadfence_system();                                                                     \
    }                                                                                             \
  }

JCCL_BENCH_KERNEL(int8, Small)
JCCL_BENCH_KERNEL(int16, Middle)
JCCL_BENCH_KERNEL(int32, Large)
