// Element types and reductions on the device. Results equal those of native/primitives/reduce.h bit for bit, and its
// contract holds here.
//
// The unit is a granule of 8 bytes, which contains whole elements. An Accumulator folds the granules of all sources of
// one call, from left to right, in the type in which the operation computes, and packs the result once.
//
// Integers of one width share a class. Sums and products do not depend on the sign; for the other operations Reduction
// contains it.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/float8.h"
#include "base/types.h"
#include "cuda/device/convert.h"
#include "cuda/device/simt.h"
#include "cuda/primitives/compiler.h"

namespace jccl::device {

struct Reduction {
  ReduceOp op;
  uint32_t divisor;  // divisor of the finished result; 1: no division
  bool isSigned;     // for integers only
};

JCCL_DEVICE Reduction reductionOf(DataType type, ReduceOp op, uint32_t divisor) {
  return {op, divisor, isSignedInteger(type)};
}

template <class To, class From>
JCCL_DEVICE To bitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits are bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// Results that IEEE 754 leaves open are those of x86: the payload of the first NaN operand, made quiet; a NaN that
// arises from numbers is negative.
template <class F, class Word, int kQuietBit>
struct Float {
  using Stored = Word;
  using Scalar = F;
  JCCL_DEVICE static F widen(Word bits) { return bitsOf<F>(bits); }
  // Like widen(), but of a NaN only that it is one is kept.
  JCCL_DEVICE static F widenNumber(Word bits) { return widen(bits); }
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
  // The sum of numbers; if one is a NaN, or if the sum is none, some NaN.
  JCCL_DEVICE static F plainSum(F a, F b) { return a + b; }
  JCCL_DEVICE static F smaller(F a, F b, bool) { return a < b || a != a ? a : b; }
  JCCL_DEVICE static F larger(F a, F b, bool) { return a > b || a != a ? a : b; }
  JCCL_DEVICE static F quotient(F a, uint32_t divisor, bool) {
    const F result = a / static_cast<F>(divisor);
    return result == result ? result : nanOf(a, a);
  }
};

// Replaces each of two narrowed values by a NaN if its original is one.
template <class E>
JCCL_DEVICE uint32_t withNans(uint32_t narrowed, float low, float high) {
  constexpr int kBits = 8 * sizeof(typename E::Stored);
  if (low == low && high == high) return narrowed;
  const uint32_t first = low == low ? narrowed & ((1u << kBits) - 1) : E::nan(low);
  const uint32_t second = high == high ? narrowed >> kBits : E::nan(high);
  return first | second << kBits;
}

using Float32 = Float<float, uint32_t, 22>;
using Float64 = Float<double, uint64_t, 51>;

// 16-bit floats compute in float32. The hardware converts numbers. NaNs keep their payload, made quiet, as on the host.
struct Bfloat16 : Float32 {
  using Stored = uint16_t;
  JCCL_DEVICE static float widen(uint16_t bits) { return bitsOf<float>(static_cast<uint32_t>(bits) << 16); }
  JCCL_DEVICE static float widenNumber(uint16_t bits) { return widen(bits); }
  JCCL_DEVICE static uint32_t nan(float value) { return (bitsOf<uint32_t>(value) | 0x400000u) >> 16; }
  JCCL_DEVICE static uint32_t narrowTwo(float low, float high) {
    return withNans<Bfloat16>(narrowNumbers(low, high), low, high);
  }
  JCCL_DEVICE static uint32_t narrowNumbers(float low, float high) { return simt::narrowBfloats(low, high); }
};

struct Float16 : Float32 {
  using Stored = uint16_t;
  JCCL_DEVICE static float widenNumber(uint16_t bits) { return simt::widenHalf(bits); }
  JCCL_DEVICE static float widen(uint16_t bits) {
    const float value = widenNumber(bits);
    if (value == value) return value;
    return bitsOf<float>((bits & 0x8000u) << 16 | (bits & 0x3ffu) << 13 | 0x7fc00000u);
  }
  JCCL_DEVICE static uint32_t nan(float value) {
    const uint32_t bits = bitsOf<uint32_t>(value);
    return (bits >> 16 & 0x8000u) | (bits >> 13 & 0x3ffu) | 0x7e00u;
  }
  JCCL_DEVICE static uint32_t narrowTwo(float low, float high) {
    return withNans<Float16>(narrowNumbers(low, high), low, high);
  }
  JCCL_DEVICE static uint32_t narrowNumbers(float low, float high) { return simt::narrowHalves(low, high); }
};

// 8-bit floats compute in float32, and treat NaNs like 16-bit floats.
template <class Layout>
struct Float8 : Float32 {
  using Stored = uint8_t;
  JCCL_DEVICE static float quietNan(uint8_t bits) {
    constexpr uint32_t kFraction = (1u << Layout::kFractionBits) - 1;
    return bitsOf<float>((bits & 0x80u) << 24 | (bits & kFraction) << Layout::kShift | 0x7fc00000u);
  }
  JCCL_DEVICE static uint32_t nan(float value) {
    const uint32_t bits = bitsOf<uint32_t>(value);
    return (bits >> 24 & 0x80u) | (bits >> 21 & Layout::kPayload) | Layout::kQuietNan;
  }
};

struct E4m3 : Float8<E4m3Layout> {
  JCCL_DEVICE static float widenNumber(uint8_t bits) { return simt::widenE4m3(bits); }
  JCCL_DEVICE static float widen(uint8_t bits) {
    const float value = widenNumber(bits);
    return value == value ? value : quietNan(bits);
  }
  JCCL_DEVICE static uint32_t narrowTwo(float low, float high) {
    return withNans<E4m3>(narrowNumbers(low, high), low, high);
  }
  JCCL_DEVICE static uint32_t narrowNumbers(float low, float high) { return simt::narrowE4m3s(low, high); }
};

struct E5m2 : Float8<E5m2Layout> {
  JCCL_DEVICE static float widenNumber(uint8_t bits) { return simt::widenHalf(static_cast<uint16_t>(bits << 8)); }
  JCCL_DEVICE static float widen(uint8_t bits) {
    const float value = widenNumber(bits);
    return value == value ? value : quietNan(bits);
  }
  JCCL_DEVICE static uint32_t narrowTwo(float low, float high) {
    return withNans<E5m2>(narrowNumbers(low, high), low, high);
  }
  JCCL_DEVICE static uint32_t narrowNumbers(float low, float high) { return simt::narrowE5m2s(low, high); }
};

// Integers, stored as unsigned; `isSigned` tells how to interpret them.
template <class Word>
struct Integer {
  using Stored = Word;
  using Scalar = Word;
  using Signed = std::make_signed_t<Word>;
  // Operands of 16 bits or less would otherwise be promoted to int, and their products would be signed.
  using Wide = std::conditional_t<sizeof(Word) == 8, uint64_t, uint32_t>;
  JCCL_DEVICE static Word widen(Word bits) { return bits; }
  JCCL_DEVICE static Word widenNumber(Word bits) { return bits; }
  JCCL_DEVICE static Word narrow(Word value) { return value; }
  JCCL_DEVICE static Word sum(Word a, Word b) { return static_cast<Word>(Wide{a} + Wide{b}); }
  JCCL_DEVICE static Word plainSum(Word a, Word b) { return sum(a, b); }
  JCCL_DEVICE static Word product(Word a, Word b) { return static_cast<Word>(Wide{a} * Wide{b}); }
  // Maps the signed range onto the unsigned one, in order.
  JCCL_DEVICE static Word ordered(Word value, bool isSigned) {
    return static_cast<Word>(value ^ (isSigned ? Word{1} << (8 * sizeof(Word) - 1) : Word{0}));
  }
  JCCL_DEVICE static Word bothBits(Word a, Word b) { return a & b; }
  JCCL_DEVICE static Word eitherBits(Word a, Word b) { return a | b; }
  JCCL_DEVICE static Word differentBits(Word a, Word b) { return a ^ b; }
  JCCL_DEVICE static Word smaller(Word a, Word b, bool isSigned) {
    return ordered(a, isSigned) < ordered(b, isSigned) ? a : b;
  }
  JCCL_DEVICE static Word larger(Word a, Word b, bool isSigned) {
    return ordered(a, isSigned) > ordered(b, isSigned) ? a : b;
  }
  // Rounds towards zero. The smallest signed number is its own magnitude.
  JCCL_DEVICE static Word quotient(Word a, uint32_t divisor, bool isSigned) {
    const bool negative = isSigned && static_cast<Signed>(a) < 0;
    const Word magnitude = negative ? static_cast<Word>(Wide{0} - Wide{a}) : a;
    const Word result = static_cast<Word>(Wide{magnitude} / static_cast<Wide>(divisor));
    return negative ? static_cast<Word>(Wide{0} - Wide{result}) : result;
  }
};

// Operations as types, so that each loop contains one operation instead of a choice.
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
struct AndOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool) {
    return E::bothBits(a, b);
  }
};
template <class E>
struct OrOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool) {
    return E::eitherBits(a, b);
  }
};
template <class E>
struct XorOf {
  JCCL_DEVICE static typename E::Scalar apply(typename E::Scalar a, typename E::Scalar b, bool) {
    return E::differentBits(a, b);
  }
};

// Calls run(operation) with the operation that folds. For an average, this is the sum; the caller divides later.
template <class E, class Run>
JCCL_DEVICE void withOperation(ReduceOp op, const Run& run) {
  if constexpr (std::is_integral_v<typename E::Scalar>) {
    switch (op) {
      case ReduceOp::And:
        return run(AndOf<E>{});
      case ReduceOp::Or:
        return run(OrOf<E>{});
      case ReduceOp::Xor:
        return run(XorOf<E>{});
      default:
        break;
    }
  }
  switch (op) {
    case ReduceOp::Prod:
      return run(ProductOf<E>{});
    case ReduceOp::Min:
      return run(SmallerOf<E>{});
    case ReduceOp::Max:
      return run(LargerOf<E>{});
    default:
      return run(SumOf<E>{});
  }
}

template <class E>
class Accumulator {
  static constexpr int kLanes = 8 / sizeof(typename E::Stored);
  static constexpr int kBits = 8 * sizeof(typename E::Stored);

 public:
  JCCL_DEVICE void load(uint64_t granule) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) lanes_[i] = lane(granule, i);
  }

  JCCL_DEVICE void fold(uint64_t granule, const Reduction& reduction) {
    Accumulator numbers;
    numbers.load(granule);
    withOperation<E>(reduction.op, [&](auto op) { combine<decltype(op)>(numbers, reduction.isSigned); });
  }
  // Folds the accumulator `numbers` into this one. Both contain widened elements, so that the code that widens, most of
  // the code for narrow types, exists once and not once per operation.
  template <class Op>
  JCCL_DEVICE void combine(const Accumulator& numbers, bool isSigned) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) lanes_[i] = Op::apply(lanes_[i], numbers.lanes_[i], isSigned);
  }

  JCCL_DEVICE void divide(const Reduction& reduction) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; i += kScalars) {
      typename E::Scalar scalars[kScalars];
      JCCL_UNROLL
      for (int k = 0; k < kScalars; ++k) scalars[k] = lanes_[i + k];
      uint64_t bits;
      memcpy(&bits, scalars, sizeof bits);
      bits = quotients(bits, reduction.divisor, reduction.isSigned);
      memcpy(&lanes_[i], &bits, sizeof bits);
    }
  }

  // A granule that sums ignore: elements of -0.0, to which any number adds without a change, or zeros of integers.
  static constexpr uint64_t kNothing =
      std::is_integral_v<typename E::Scalar> ? 0 : ~uint64_t{0} / ((uint64_t{1} << (kBits - 1)) * 2 - 1) << (kBits - 1);
  // Adds a granule without a choice of the operation. A NaN becomes some NaN.
  JCCL_DEVICE void add(uint64_t granule) {
    JCCL_UNROLL
    for (int i = 0; i < kLanes; ++i) {
      lanes_[i] = E::plainSum(lanes_[i], E::widenNumber(static_cast<typename E::Stored>(granule >> i * kBits % 64)));
    }
  }
  JCCL_DEVICE bool hasNan() const {
    bool found = false;
    if constexpr (!std::is_integral_v<typename E::Scalar>) {
      JCCL_UNROLL
      for (int i = 0; i < kLanes; ++i) found |= lanes_[i] != lanes_[i];
    }
    return found;
  }
  // Packs lanes without NaNs.
  JCCL_DEVICE uint64_t packNumbers() const {
    if constexpr (std::is_same_v<typename E::Scalar, typename E::Stored> || kLanes <= 2) {
      return pack();
    } else {
      uint64_t granule = 0;
      JCCL_UNROLL
      for (int i = 0; i < kLanes; i += 2) granule |= uint64_t{E::narrowNumbers(lanes_[i], lanes_[i + 1])} << i * kBits;
      return granule;
    }
  }

  JCCL_DEVICE uint64_t pack() const {
    uint64_t granule = 0;
    if constexpr (std::is_same_v<typename E::Scalar, typename E::Stored> || kLanes <= 2) {
      JCCL_UNROLL
      for (int i = 0; i < kLanes; ++i) granule |= uint64_t{E::narrow(lanes_[i])} << i * kBits % 64;
    } else {
      JCCL_UNROLL
      for (int i = 0; i < kLanes; i += 2) granule |= uint64_t{E::narrowTwo(lanes_[i], lanes_[i + 1])} << i * kBits;
    }
    return granule;
  }

 private:
  static constexpr int kScalars = 8 / sizeof(typename E::Scalar);

  // Not inlined, because the code of a division is long.
  JCCL_DEVICE_CALL static uint64_t quotients(uint64_t bits, uint32_t divisor, bool isSigned) {
    typename E::Scalar scalars[kScalars];
    memcpy(scalars, &bits, sizeof bits);
    JCCL_UNROLL
    for (int k = 0; k < kScalars; ++k) scalars[k] = E::quotient(scalars[k], divisor, isSigned);
    memcpy(&bits, scalars, sizeof bits);
    return bits;
  }
  JCCL_DEVICE static typename E::Scalar lane(uint64_t granule, int i) {
    return E::widen(static_cast<typename E::Stored>(granule >> i * kBits % 64));
  }

  typename E::Scalar lanes_[kLanes] = {};
};

}  // namespace jccl::device
