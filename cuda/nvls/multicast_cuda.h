// Implements multicast.h on a GPU with the multimem instructions of PTX ISA 8.1. Only the fence and the release are
// compiler barriers, so that several loads are in flight together.
#pragma once

#include <cstdint>

#include "cuda/device/memory_cuda.h"
#include "cuda/device/simt_cuda.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "multicast addresses need compute capability 9.0 or newer"
#endif

namespace jccl::simt {

#define JCCL_LOAD_REDUCED_32(reduction, instruction)                                                             \
  template <>                                                                                                    \
  JCCL_DEVICE Vec16 loadReduced<SwitchReduction::reduction>(const void* p) {                                     \
    const uint64_t at = globalAddress(p);                                                                        \
    uint32_t w[4];                                                                                               \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1];" : "=r"(w[0]) : "l"(at));      \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1 + 4];" : "=r"(w[1]) : "l"(at));  \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1 + 8];" : "=r"(w[2]) : "l"(at));  \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1 + 12];" : "=r"(w[3]) : "l"(at)); \
    return {uint64_t{w[0]} | uint64_t{w[1]} << 32, uint64_t{w[2]} | uint64_t{w[3]} << 32};                       \
  }

#define JCCL_LOAD_REDUCED_64(reduction, instruction, constraint, type)                                                \
  template <>                                                                                                         \
  JCCL_DEVICE Vec16 loadReduced<SwitchReduction::reduction>(const void* p) {                                          \
    const uint64_t at = globalAddress(p);                                                                             \
    type low, high;                                                                                                   \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1];" : constraint(low) : "l"(at));      \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1 + 8];" : constraint(high) : "l"(at)); \
    Vec16 value;                                                                                                      \
    memcpy(&value.low, &low, sizeof low);                                                                             \
    memcpy(&value.high, &high, sizeof high);                                                                          \
    return value;                                                                                                     \
  }

#define JCCL_LOAD_REDUCED_VECTOR(reduction, instruction)                                         \
  template <>                                                                                    \
  JCCL_DEVICE Vec16 loadReduced<SwitchReduction::reduction>(const void* p) {                     \
    uint32_t w[4];                                                                               \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " {%0, %1, %2, %3}, [%4];" \
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])                                \
                 : "l"(globalAddress(p)));                                                       \
    return {uint64_t{w[0]} | uint64_t{w[1]} << 32, uint64_t{w[2]} | uint64_t{w[3]} << 32};       \
  }

template <SwitchReduction R>
JCCL_DEVICE Vec16 loadReduced(const void* p);

JCCL_LOAD_REDUCED_32(SumInt32, "add.u32")
JCCL_LOAD_REDUCED_32(MinInt32, "min.s32")
JCCL_LOAD_REDUCED_32(MinUint32, "min.u32")
JCCL_LOAD_REDUCED_32(MaxInt32, "max.s32")
JCCL_LOAD_REDUCED_32(MaxUint32, "max.u32")
JCCL_LOAD_REDUCED_64(SumInt64, "add.u64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(MinInt64, "min.s64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(MinUint64, "min.u64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(MaxInt64, "max.s64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(MaxUint64, "max.u64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(And, "and.b64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(Or, "or.b64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(Xor, "xor.b64", "=l", uint64_t)
JCCL_LOAD_REDUCED_64(SumFloat64, "add.f64", "=d", double)
JCCL_LOAD_REDUCED_VECTOR(SumFloat32, "add.v4.f32")
JCCL_LOAD_REDUCED_VECTOR(SumFloat16, "add.acc::f32.v4.f16x2")
JCCL_LOAD_REDUCED_VECTOR(SumBfloat16, "add.acc::f32.v4.bf16x2")

#undef JCCL_LOAD_REDUCED_32
#undef JCCL_LOAD_REDUCED_64
#undef JCCL_LOAD_REDUCED_VECTOR

JCCL_DEVICE void storeMulticast(void* p, Vec16 value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(globalAddress(p)),
               "r"(static_cast<uint32_t>(value.low)), "r"(static_cast<uint32_t>(value.low >> 32)),
               "r"(static_cast<uint32_t>(value.high)), "r"(static_cast<uint32_t>(value.high >> 32)));
}
JCCL_DEVICE void storeMulticast(uint64_t* p, uint64_t value) {
  asm volatile("multimem.st.relaxed.sys.global.b64 [%0], %1;" ::"l"(globalAddress(p)), "l"(value));
}

JCCL_DEVICE void releaseMulticast(uint64_t* p, uint64_t value) {
  asm volatile("multimem.st.release.sys.global.b64 [%0], %1;" ::"l"(globalAddress(p)), "l"(value) : "memory");
}

JCCL_DEVICE void fenceAliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }

}  // namespace jccl::simt
