// Converts to 8-bit floats by arithmetic, for GPUs without such instructions and for the emulator.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/float8.h"
#include "cuda/device/simt.h"

namespace jccl::simt {

// Narrows one number to nearest, ties to even, saturating; a NaN becomes the largest number.
template <class Layout>
JCCL_DEVICE uint32_t narrowFloat8(float value) {
  const auto bitsOf = [](float number) {
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
  };
  const auto numberOf = [](int32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
  };
  const uint32_t sign = static_cast<uint32_t>(bitsOf(value)) >> 24 & 0x80u;
  const int32_t magnitude = bitsOf(value) & 0x7fffffff;
  const int32_t number = magnitude < Layout::kLargest ? magnitude : Layout::kLargest;
  const int32_t odd = number >> Layout::kShift & 1;
  const int32_t normal = (number - Layout::kRebias + ((1 << (Layout::kShift - 1)) - 1) + odd) >> Layout::kShift;
  const int32_t subnormal = bitsOf(numberOf(number) + numberOf(Layout::kRounder)) - Layout::kRounder;
  return sign | static_cast<uint32_t>(number < Layout::kSmallestNormal ? subnormal : normal);
}

// Narrows two numbers, the first into the low byte.
template <class Layout>
JCCL_DEVICE uint32_t narrowFloat8s(float low, float high) {
  return narrowFloat8<Layout>(low) | narrowFloat8<Layout>(high) << 8;
}

}  // namespace jccl::simt
