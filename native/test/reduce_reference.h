// A simple, slow reference implementation of the reduction kernels: one element at a time, with explicit conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "primitives/reduce.h"

namespace jccl::reference {

template <class To, class From>
To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Returns the value of a binary16 number, by its definition.
inline float fromFloat16(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int fraction = h & 1023;
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  if (exponent == 31) {
    const uint32_t quiet = fraction != 0 ? 1u << 22 : 0;
    return bits<float>(sign | 0x7f800000u | static_cast<uint32_t>(fraction) << 13 | quiet);
  }
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                        : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return bits<float>(bits<uint32_t>(magnitude) | sign);
}

// Returns the nearest binary16 number, ties to even. The C library rounds the fraction, scaled to an integer.
inline uint16_t toFloat16(float f) {
  const uint32_t word = bits<uint32_t>(f);
  const auto sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
  if (std::isnan(f)) {
    return static_cast<uint16_t>(sign | 0x7e00u | ((word >> 13) & 0x3ffu));
  }
  const double magnitude = std::fabs(static_cast<double>(f));
  if (magnitude == 0.0) {
    return sign;
  }
  if (magnitude >= 65520.0) {
    return static_cast<uint16_t>(sign | 0x7c00u);
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  const int unit = exponent - 11 < -24 ? -24 : exponent - 11;
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));  // at most 2048
  // If the unit is 2^-24, `units` is the fraction field. Each doubling of the unit adds one to the exponent field.
  return static_cast<uint16_t>(sign | (units + (static_cast<uint32_t>(unit + 24) << 10)));
}

inline float fromBfloat16(uint16_t h) { return bits<float>(static_cast<uint32_t>(h) << 16); }

inline uint16_t toBfloat16(float f) {
  const uint32_t word = bits<uint32_t>(f);
  if (std::isnan(f)) {
    return static_cast<uint16_t>((word >> 16) | 0x40u);
  }
  const uint32_t rest = word & 0xffffu;
  uint32_t upper = word >> 16;
  if (rest > 0x8000u || (rest == 0x8000u && (upper & 1u) != 0)) {
    ++upper;
  }
  return static_cast<uint16_t>(upper);
}

// Returns the value of an 8-bit float, by its definition. A NaN becomes quiet and keeps its sign and fraction.
template <int kFractionBits, bool kIeee>
float fromFloat8(uint8_t code) {
  constexpr int bias = (1 << (6 - kFractionBits)) - 1;
  const int exponent = (code & 0x7f) >> kFractionBits;
  const int fraction = code & ((1 << kFractionBits) - 1);
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24;
  const bool nan = kIeee ? (code & 0x7f) > 0x7c : (code & 0x7f) == 0x7f;
  if (nan) return bits<float>(sign | 0x7fc00000u | static_cast<uint32_t>(fraction) << (23 - kFractionBits));
  if (kIeee && (code & 0x7f) == 0x7c) return bits<float>(sign | 0x7f800000u);
  const int significand = exponent == 0 ? fraction : fraction + (1 << kFractionBits);
  const int scale = (exponent == 0 ? 1 : exponent) - bias - kFractionBits;
  return bits<float>(bits<uint32_t>(std::ldexp(static_cast<float>(significand), scale)) | sign);
}

// Returns the 8-bit float nearest to a number, ties to even, by a binary search over all codes. Numbers beyond the
// largest become the largest.
template <int kFractionBits, bool kIeee>
uint8_t toFloat8(float f) {
  constexpr int largest = kIeee ? 0x7b : 0x7e;
  const uint32_t word = bits<uint32_t>(f);
  const auto sign = static_cast<uint8_t>(word >> 24 & 0x80u);
  if (std::isnan(f)) return static_cast<uint8_t>(sign | (kIeee ? 0x7eu | (word >> 21 & 3u) : 0x7fu));
  const double magnitude = std::fabs(static_cast<double>(f));
  int below = 0;  // the largest code whose value is at most the magnitude
  for (int step = 64; step != 0; step /= 2) {
    if (below + step <= largest && fromFloat8<kFractionBits, kIeee>(static_cast<uint8_t>(below + step)) <= magnitude) {
      below += step;
    }
  }
  if (below == largest) return static_cast<uint8_t>(sign | largest);
  const double down = magnitude - fromFloat8<kFractionBits, kIeee>(static_cast<uint8_t>(below));
  const double up = fromFloat8<kFractionBits, kIeee>(static_cast<uint8_t>(below + 1)) - magnitude;
  return static_cast<uint8_t>(sign | (up < down || (up == down && below % 2 != 0) ? below + 1 : below));
}

inline float fromE4m3(uint8_t code) { return fromFloat8<3, false>(code); }
inline uint8_t toE4m3(float f) { return toFloat8<3, false>(f); }
inline float fromE5m2(uint8_t code) { return fromFloat8<2, true>(code); }
inline uint8_t toE5m2(float f) { return toFloat8<2, true>(f); }

// Returns a op b. If an operand is a NaN, returns the first such operand; sums and products make it quiet, as IEEE 754
// demands. A NaN that an operation creates is negative.
template <class S>
S fold(ReduceOp op, S a, S b) {
  if constexpr (std::is_floating_point_v<S>) {
    using Word = std::conditional_t<sizeof(S) == 4, uint32_t, uint64_t>;
    constexpr Word quiet = Word{1} << (std::numeric_limits<S>::digits - 2);
    const bool arithmetic = op != ReduceOp::Min && op != ReduceOp::Max;
    if (std::isnan(a) || std::isnan(b)) {
      const Word word = bits<Word>(std::isnan(a) ? a : b);
      return bits<S>(arithmetic ? word | quiet : word);
    }
    if (arithmetic) {
      const S result = op == ReduceOp::Prod ? a * b : a + b;
      return std::isnan(result) ? bits<S>(static_cast<Word>(~Word{0} << (std::numeric_limits<S>::digits - 2))) : result;
    }
  } else {
    using U = std::make_unsigned_t<S>;
    using Wide = std::conditional_t<sizeof(S) == 8, uint64_t, uint32_t>;
    const auto x = static_cast<Wide>(static_cast<U>(a));
    const auto y = static_cast<Wide>(static_cast<U>(b));
    if (op == ReduceOp::Prod) return static_cast<S>(static_cast<U>(x * y));
    if (op == ReduceOp::Sum || op == ReduceOp::Avg) return static_cast<S>(static_cast<U>(x + y));
    if (op == ReduceOp::And) return static_cast<S>(static_cast<U>(x & y));
    if (op == ReduceOp::Or) return static_cast<S>(static_cast<U>(x | y));
    if (op == ReduceOp::Xor) return static_cast<S>(static_cast<U>(x ^ y));
  }
  return (op == ReduceOp::Min ? a < b : a > b) ? a : b;
}

template <class S>
S divide(S sum, uint32_t divisor) {
  if constexpr (std::is_floating_point_v<S>) {
    if (std::isnan(sum)) return sum;  // quiet already: see quieted()
    return sum / static_cast<S>(divisor);
  } else if constexpr (std::is_signed_v<S>) {
    return static_cast<S>(static_cast<int64_t>(sum) / static_cast<int64_t>(divisor));
  } else {
    return static_cast<S>(static_cast<uint64_t>(sum) / divisor);
  }
}

template <class S>
S quieted(S value) {
  if constexpr (std::is_floating_point_v<S>) {
    if (std::isnan(value)) return fold(ReduceOp::Sum, value, value);
  }
  return value;
}

template <class Stored, class S, S (*Widen)(Stored), Stored (*Narrow)(S)>
Stored reduceOne(ReduceOp op, const std::vector<const char*>& sources, size_t index, uint32_t divisor) {
  const auto element = [&](size_t s) {
    Stored stored;
    std::memcpy(&stored, sources[s] + index * sizeof(Stored), sizeof stored);
    return stored;
  };
  const bool divided = op == ReduceOp::Avg && divisor > 1;
  if (sources.size() == 1 && !divided) return element(0);
  S result = Widen(element(0));
  for (size_t s = 1; s < sources.size(); ++s) result = fold(op, result, Widen(element(s)));
  return Narrow(divided ? divide(quieted(result), divisor) : result);
}

template <class S>
S same(S value) {
  return value;
}

template <class Stored, class S, S (*Widen)(Stored), Stored (*Narrow)(S)>
void reduceAll(ReduceOp op, const std::vector<const char*>& sources, size_t count, uint32_t divisor, char* to) {
  for (size_t i = 0; i < count; ++i) {
    const Stored result = reduceOne<Stored, S, Widen, Narrow>(op, sources, i, divisor);
    std::memcpy(to + i * sizeof result, &result, sizeof result);
  }
}

template <class S>
void reducePlain(ReduceOp op, const std::vector<const char*>& sources, size_t count, uint32_t divisor, char* to) {
  reduceAll<S, S, same<S>, same<S>>(op, sources, count, divisor, to);
}

inline void reduce(DataType type, ReduceOp op, const std::vector<const char*>& sources, size_t count, uint32_t divisor,
                   char* to) {
  switch (type) {
    case DataType::Int8:
      return reducePlain<int8_t>(op, sources, count, divisor, to);
    case DataType::Uint8:
      return reducePlain<uint8_t>(op, sources, count, divisor, to);
    case DataType::Int16:
      return reducePlain<int16_t>(op, sources, count, divisor, to);
    case DataType::Uint16:
      return reducePlain<uint16_t>(op, sources, count, divisor, to);
    case DataType::Int32:
      return reducePlain<int32_t>(op, sources, count, divisor, to);
    case DataType::Uint32:
      return reducePlain<uint32_t>(op, sources, count, divisor, to);
    case DataType::Int64:
      return reducePlain<int64_t>(op, sources, count, divisor, to);
    case DataType::Uint64:
      return reducePlain<uint64_t>(op, sources, count, divisor, to);
    case DataType::Float16:
      return reduceAll<uint16_t, float, fromFloat16, toFloat16>(op, sources, count, divisor, to);
    case DataType::Bfloat16:
      return reduceAll<uint16_t, float, fromBfloat16, toBfloat16>(op, sources, count, divisor, to);
    case DataType::Float32:
      return reducePlain<float>(op, sources, count, divisor, to);
    case DataType::Float64:
      return reducePlain<double>(op, sources, count, divisor, to);
    case DataType::Float8E4m3:
      return reduceAll<uint8_t, float, fromE4m3, toE4m3>(op, sources, count, divisor, to);
    case DataType::Float8E5m2:
      return reduceAll<uint8_t, float, fromE5m2, toE5m2>(op, sources, count, divisor, to);
  }
}

}  // namespace jccl::reference
