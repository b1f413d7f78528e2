// The two 8-bit floats of the Open Compute Project (OCP 8-bit Floating Point Specification), as constants: what conversions
// on the host and on the device are made of.
//
//          7      6            2   0           7      6           1   0
//         ┌──────┬────────────┬─────┐         ┌──────┬───────────┬─────┐
//   e4m3  │ sign │ exponent 4 │ f 3 │   e5m2  │ sign │ exponent 5│ f 2 │
//         └──────┴────────────┴─────┘         └──────┴───────────┴─────┘
//
//   e4m3  bias 7,  up to 448,   smallest 2^-9; no infinities, NaN only 0x7f and 0xff
//   e5m2  bias 15, up to 57344, smallest 2^-16; infinities and NaNs as in IEEE 754: the upper byte of a binary16
//
// What is stored after a reduction is rounded to nearest, ties to even, and saturates: beyond the largest number, infinities
// included, it is the largest number with that sign. So does CUDA (__NV_SATFINITE of cuda_fp8.h, and cvt.rn.satfinite of
// PTX), whose conversions NCCL's reductions of these types use.
#pragma once

#include <cstdint>

namespace jccl {

// Bits of float32 are of a number without its sign.
template <int FractionBits, int32_t FirstSpecial>
struct Float8Layout {
  static constexpr int kFractionBits = FractionBits;
  // From this code on, without the sign, come what infinities there are and the NaNs; the one before is the largest number.
  static constexpr int32_t kFirstSpecial = FirstSpecial;
  // In e4m3 a code like others: its NaN has all bits of the fraction, and is quiet anyway.
  static constexpr int32_t kInfinity = 0x7c;
  static constexpr int kBias = (1 << (6 - kFractionBits)) - 1;
  static constexpr int kShift = 23 - kFractionBits;        // from a fraction to that of float32
  static constexpr int32_t kRebias = (127 - kBias) << 23;  // from an exponent to that of float32
  static constexpr int32_t kSmallestNormal = (128 - kBias) << 23;
  static constexpr int32_t kLargest = ((kFirstSpecial - 1) << kShift) + kRebias;
  // The unit of the subnormals; and the number whose last place in float32 is this unit, so that adding it rounds to it.
  static constexpr int32_t kUnit = (128 - kBias - kFractionBits) << 23;
  static constexpr int32_t kRounder = kUnit + (23 << 23);
  // A NaN keeps the sign and as much of its payload as fits, and is quiet.
  static constexpr int32_t kQuietNan = kFirstSpecial | 2;
  static constexpr int32_t kPayload = 3;
};

using E4m3Layout = Float8Layout<3, 0x7f>;
using E5m2Layout = Float8Layout<2, 0x7c>;

}  // namespace jccl
