// convert.h on a GPU. Compute capability 7.5 converts halves one by one and knows no bfloat16.
#pragma once

#include <cstdint>

#include "cuda/device/simt_cuda.h"

namespace jccl::simt {

JCCL_DEVICE float widenHalf(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

JCCL_DEVICE uint32_t narrowHalves(float low, float high) {
  uint32_t bits;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(bits) : "f"(low), "f"(high));
#else
  asm("{\n\t"
      ".reg .b16 low, high;\n\t"
      "cvt.rn.f16.f32 low, %1;\n\t"
      "cvt.rn.f16.f32 high, %2;\n\t"
      "mov.b32 %0, {low, high};\n\t"
      "}"
      : "=r"(bits)
      : "f"(low), "f"(high));
#endif
  return bits;
}

JCCL_DEVICE uint32_t narrowBfloats(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(bits) : "f"(low), "f"(high));
  return bits;
#else
  const auto rounded = [](float value) {
    const uint32_t bits = __float_as_uint(value);
    return bits + 0x7fffu + (bits >> 16 & 1u);
  };
  return rounded(low) >> 16 | (rounded(high) & 0xffff0000u);
#endif
}

}  // namespace jccl::simt
