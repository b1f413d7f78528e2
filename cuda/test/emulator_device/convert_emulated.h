// Implements cuda/device/convert.h for the emulator by integer arithmetic. A NaN becomes the NaN that the hardware
// produces: all bits set except the sign.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/device/float8_software.h"

namespace jccl::simt {

inline float widenHalf(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fffu;
  uint32_t value;
  if (magnitude > 0x7c00u) return std::bit_cast<float>(0x7fffffffu);
  if (magnitude == 0x7c00u) {
    value = 0x7f800000u;
  } else if (magnitude < 0x400u) {
    value = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  } else {
    value = (magnitude << 13) + (112u << 23);  // the exponent's bias grows from 15 to 127
  }
  return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
}

inline uint32_t narrowHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14, the smallest normal: adding 0.5 rounds to a multiple of 2^-24, the unit of the subnormals.
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    result = (magnitude - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
  }
  return result | (bits >> 16 & 0x8000u);
}

inline uint32_t narrowBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return value == value ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16 : 0x7fffu;
}

inline uint32_t narrowHalves(float low, float high) { return narrowHalf(low) | narrowHalf(high) << 16; }
inline uint32_t narrowBfloats(float low, float high) { return narrowBfloat(low) | narrowBfloat(high) << 16; }

inline float widenE4m3(uint8_t bits) {
  if ((bits & 0x7fu) == 0x7fu) return std::bit_cast<float>(0x7fffffffu);
  return widenHalf(static_cast<uint16_t>((bits & 0x80u) << 8 | (bits & 0x7fu) << 7)) * 256.0f;
}

// The software conversion that GPUs without FP8 instructions use, but with the NaNs of GPUs that have them.
template <class Layout>
uint32_t narrowFloat8sWithNans(float low, float high) {
  const auto one = [](float value) { return value == value ? narrowFloat8<Layout>(value) : 0x7fu; };
  return one(low) | one(high) << 8;
}
inline uint32_t narrowE4m3s(float low, float high) { return narrowFloat8sWithNans<E4m3Layout>(low, high); }
inline uint32_t narrowE5m2s(float low, float high) { return narrowFloat8sWithNans<E5m2Layout>(low, high); }

}  // namespace jccl::simt
