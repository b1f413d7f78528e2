// Constants of the two 8-bit floats of the Open Compute Project (OCP 8-bit Floating Point Specification), from which
// the conversions of the host and the device are built.
//
//          7      6            2   0           7      6           1   0
//         ┌──────┬────────────┬─────┐         ┌──────┬───────────┬─────┐
//   e4m3  │ sign │ exponent 4 │ f 3 │   e5m2  │ sign │ exponent 5│ f 2 │
//         └──────┴────────────┴─────┘         └──────┴───────────┴─────┘
//
//   e4m3  bias 7,  up to 448,   smallest 2^-9; no infinities, only 0x7f and 0xff are NaNs
//   e5m2  bias 15, up to 57344, smallest 2^-16; infinities and NaNs as in IEEE 754: the upper byte of a binary16
//
// Results of reductions are rounded to nearest, ties to even, and saturate: a value beyond the largest number, infinity
// included, becomes the largest number of the same sign. CUDA does the same (__NV_SATFINITE of cuda_fp8.h, and
// cvt.rn.satfinite of PTX), and NCCL's reductions of these types use CUDA's conversions.
#pragma once

#include <cstdint>

namespace jccl {

// Constants named like numbers (kLargest, kUnit, ...) are bits of a float32 without its sign.
template <int FractionBits, int32_t FirstSpecial>
struct Float8Layout {
  static constexpr int kFractionBits = FractionBits;
  // The lowest code, without the sign, of an infinity or a NaN. The code before it is the largest number.
  static constexpr int32_t kFirstSpecial = FirstSpecial;
  // NaNs whose code is above kInfinity must become quiet. In e4m3 kInfinity is the code of a number; the only NaN of
  // e4m3 is always quiet, since all bits of its fraction are set.
  static constexpr int32_t kInfinity = 0x7c;
  static constexpr int kBias = (1 << (6 - kFractionBits)) - 1;
  static constexpr int kShift = 23 - kFractionBits;  // distance from the lowest fraction bit to that of float32
  // Difference of the exponents' biases, in the place of float32's exponent
  static constexpr int32_t kRebias = (127 - kBias) << 23;
  static constexpr int32_t kSmallestNormal = (128 - kBias) << 23;
  static constexpr int32_t kLargest = ((kFirstSpecial - 1) << kShift) + kRebias;
  // kUnit is the smallest subnormal. The last place of kRounder has the value kUnit, so adding kRounder rounds a number
  // to a multiple of kUnit.
  static constexpr int32_t kUnit = (128 - kBias - kFractionBits) << 23;
  static constexpr int32_t kRounder = kUnit + (23 << 23);
  // A NaN becomes quiet. It keeps its sign and the bits kPayload of its payload, because no more bits fit.
  static constexpr int32_t kQuietNan = kFirstSpecial | 2;
  static constexpr int32_t kPayload = 3;
};

using E4m3Layout = Float8Layout<3, 0x7f>;
using E5m2Layout = Float8Layout<2, 0x7c>;

}  // namespace jccl
