// Implements convert.h on a GPU. Compute capability 7.5 converts halves one by one, and has no bfloat16. From 8.9 on,
// the hardware converts 8-bit floats.
#pragma once

#include <cstdint>

#include "cuda/device/float8_software.h"
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

JCCL_DEVICE float widenE4m3(uint8_t bits) {
#if __CUDA_ARCH__ >= 890
  float value;
  asm("{\n\t"
      ".reg .b16 low, high;\n\t"
      ".reg .b32 both;\n\t"
      "cvt.rn.f16x2.e4m3x2 both, %1;\n\t"
      "mov.b32 {low, high}, both;\n\t"
      "cvt.f32.f16 %0, low;\n\t"
      "}"
      : "=f"(value)
      : "h"(static_cast<uint16_t>(bits)));
  return value;
#else
  // Moves the bits of the e4m3 to their places in a half. The half's bias is larger by 8, so the result is multiplied
  // by 2^8. The NaN of e4m3 needs its own case: it would become the number 480.
  const float value = widenHalf(static_cast<uint16_t>((bits & 0x80u) << 8 | (bits & 0x7fu) << 7)) * 256.0f;
  return (bits & 0x7fu) == 0x7fu ? __uint_as_float(0x7fffffffu) : value;
#endif
}

JCCL_DEVICE uint32_t narrowE4m3s(float low, float high) {
#if __CUDA_ARCH__ >= 890
  uint16_t bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %2, %1;" : "=h"(bits) : "f"(low), "f"(high));
  return bits;
#else
  return narrowFloat8s<E4m3Layout>(low, high);
#endif
}

JCCL_DEVICE uint32_t narrowE5m2s(float low, float high) {
#if __CUDA_ARCH__ >= 890
  uint16_t bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %2, %1;" : "=h"(bits) : "f"(low), "f"(high));
  return bits;
#else
  return narrowFloat8s<E5m2Layout>(low, high);
#endif
}

}  // namespace jccl::simt
