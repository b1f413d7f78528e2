// Element types and operations on the device, bit for bit those of native/primitives/reduce.h: its contract is this file's.
//
// The unit is a granule of 8 bytes, which holds whole elements. An Accumulator folds the granules of all sources of one
// call, from left to right, in the type that the operation computes in, and packs the result once.
//
// Integers of one width share a class: sums and products do not know signs, the others are told by Reduction.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/types.h"
#include "cuda/device/simt.h"
#include "cuda/primitives/compiler.h"

namespace jccl::device {

struct Reduction {
  ReduceOp op;
  uint32_t divisor;  // of what is finished; 1: nothing to divide
  bool isSigned;     // integers
};

JCCL_DEVICE Reduction reductionOf(DataType type, ReduceOp op, uint32_t divisor) {
  return {op, divisor, type == DataType::Int8 || type == DataType::Int32 || type == DataType::Int64};
}

template <class To, class From>
JCCL_DEVICE To bitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits are bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// What IEEE 754 leaves open, as x86 has it: the first NaN operand's payload, made quiet; a new NaN is negative.
template <class F, class Word, int kQuietBit>
struct Float {
  using Stored = Word;
  using Scalar = F;
  JCCL_DEVICE static F widen(Word bits) { return bitsOf<F>(bits); }
  JCCL_DEVICE static Word narrow(F value) { return bitsOf<Word>(value); }

  JCCL_DEVICE static F quiet(F nan) { return bitsOf<F>(bitsOf<Word>(nan) | Word{1} << kQuietBit); }
  JCCL_DEVICE static F nanOf(F a, F b) {
    if (a != a) return quiet(a);
    if (b != b) return quiet(b);
    return bitsOf<F>(static_cast<Word>(~Word{0} << kQuietBit));
  }
  JCCL_DEVICE static F sum(F a, F b) {
    const F result = a + b;
    return result == result ? result : nanOf(a, b);
  }
  JCCL_DEVICE static F product(F a, F b) {
    const F result = a * b;
    return result == result ? result : nanOf(a, b);
  }
  JCCL_DEVICE static F smaller(F a, F b, bool) { return a < b || a != a ? a : b; }
  JCCL_DEVICE static F larger(F a, F b, bool) { return a > b || a != a ? a : b; }
  JCCL_DEVICE static F quotient(F a, uint32_t divisor, bool) {
    const F result = a / static_cast<F>(divisor);
    return result == result ? result : nanOf(a, a);
  }
};

using Float32 = Float<float, uint32_t, 22>;
using Float64 = Float<double, uint64_t, 51>;

// 16-bit floats compute in float32.
struct Bfloat16 : Float32 {
  using Stored = uint16_t;
  JCCL_DEVICE static float widen(uint16_t bits) { return bitsOf<float>(static_cast<uint32_t>(bits) << 16); }
  JCCL_DEVICE static uint16_t narrow(float value) {
    const uint32_t bits = bitsOf<uint32_t>(value);
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return static_cast<uint16_t>((value == value ? rounded : bits | 0x400000u) >> 16);
  }
};

// Integer arithmetic, and one addition or multiplication where it rounds right: the same in every machine.
struct Float16 : Float32 {
  using Stored = uint16_t;
  JCCL_DEVICE static float widen(uint16_t bits) {
    const uint32_t magnitude = bits & 0x7fffu;
    const uint32_t normal = (magnitude << 13) + (112u << 23);  // the exponent's bias grows from 15 to 127
    const uint32_t special = magnitude << 13 | 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0u);
    const uint32_t subnormal = bitsOf<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    const uint32_t value = magnitude >= 0x7c00u ? special : magnitude < 0x400u ? subnormal : normal;
    return bitsOf<float>(value | (bits & 0x8000u) << 16);
  }
  JCCL_DEVICE static uint16_t narrow(float value) {
    const uint32_t bits = bitsOf<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
    // Adding 0.5 rounds to a multiple of 2^-24, the unit of the subnormals.
    const uint32_t subnormal = bitsOf<uint32_t>(bitsOf<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t nan = (bits >> 13 & 0x3ffu) | 0x7e00u;
    const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14, the smallest normal
    const uint32_t result = magnitude > 0x7f800000u    ? nan
                            : magnitude >= 0x477ff000u ? 0x7c00u
                                                       : finite;  // from 65520 on
    return static_cast<uint16_t>(result | (bits >> 16 & 0x8000u));
  }
};

// Unsigned integers that may be meant signed.
template <class Word>
struct Integer {
  using Stored = Word;
  using Scalar = Word;
  using Signed = std::make_signed_t<Word>;
  // Products of 16-bit and narrower types would be signed.
  using Wide = std::conditional_t<sizeof(Word) == 8, uint64_t, uint32_t>;
  JCCL_DEVICE static Word widen(Word bits) { return bits; }
  JCCL_DEVICE static Word narrow(Word value) { return value; }
  JCCL_DEVICE static Word sum(Word a, Word b) { return static_cast<Word>(Wide{a} + Wide{b}); }
  JCCL_DEVICE static Word product(Word a, Word b) { return static_cast<Word>(Wide{a} * Wide{b}); }
  // Moves the signed range onto the unsigned one.
  JCCL_DEVICE static Word ordered(Word value, bool isSigned) {
    return static_cast<Word>(value ^ (isSigned ? Word{1} << (8 * sizeof(Word) - 1) : Word{0}));
  }
  JCCL_DEVICE static Word smaller(Word a, Word b, bool isSigned) {
    return ordered(a, isSigned) < ordered(b, isSigned) ? a : b;
  }
  JCCL_DEVICE static Word larger(Word a, Word b, bool isSigned) {
    return ordered(a, isSigned) > ordered(b, isSigned) ? a : b;
  }
  // Towards zero. The smallest number is its own magnitude, too.
  JCCL_DEVICE static Word quotient(Word a, uint32_t divisor, bool isSigned) {
    const bool negative = isSigned && static_cast<Signed>(a) < 0;
    const Word magnitude = negative ? static_cast<Word>(Wide{0} - Wide{a}) : a;
    const Word result = static_cast<Word>(Wide{magnitude} / static_cast<Wide>(divisor));
    return negative ? static_cast<Word>(Wide{0} - Wide{result}) : result;
  }
};

// Operations as types, so that loops contain one and not the choice among them.
template <class E>
struct SumOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool) { return E::sum(a, b); }
};
template <class E>
struct ProductOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool) {
    return E::product(a, b);
  }
};
template <class E>
struct SmallerOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool isSigned) {
    return E::smaller(a, b, isSigned);
  }
};
template <class E>
struct LargerOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool isSigned) {
    return E::larger(a, b, isSigned);
  }
};

template <class E>
class Accumulator {
 public:
  JCCL_DEVICE void load(uint64_t granule) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) lanes_[i] = lane(granule, i);
  }

  template <class Op>
  JCCL_DEVICE void fold(uint64_t granule, bool isSigned) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) lanes_[i] = Op::apply(lanes_[i], lane(granule, i), isSigned);
  }

  JCCL_DEVICE void fold(uint64_t granule, const Reduction& reduction) {
    switch (reduction.op) {
      case ReduceOp::Prod:
        return fold<ProductOf<E>>(granule, reduction.isSigned);
      case ReduceOp::Min:
        return fold<SmallerOf<E>>(granule, reduction.isSigned);
      case ReduceOp::Max:
        return fold<LargerOf<E>>(granule, reduction.isSigned);
      default:
        return fold<SumOf<E>>(granule, reduction.isSigned);
    }
  }

  JCCL_DEVICE void divide(const Reduction& reduction) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) lanes_[i] = E::quotient(lanes_[i], reduction.divisor, reduction.isSigned);
  }

  JCCL_DEVICE uint64_t pack() const {
    uint64_t granule = 0;
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) granule |= uint64_t{E::narrow(lanes_[i])} << i * kBits % 64;
    return granule;
  }

 private:
  static constexpr int kLanes = 8 / sizeof(typename E::Stored);
  static constexpr int kBits = 8 * sizeof(typename E::Stored);
  JCCL_DEVICE static typename E::Scalar lane(uint64_t granule, int i) {
    return E::widen(static_cast<typename E::Stored>(granule >> i * kBits % 64));
  }

  typename E::Scalar lanes_[kLanes] = {};
};

}  // namespace jccl::device
