// Element types and operations of the reduction kernels, written with the vector layer. Compiled once per instruction
// set; reduce_vector.h says what that forbids.
#pragma once

#include "primitives/reduce.h"
#include "primitives/reduce_vector.h"

namespace jccl {
namespace {

// An element type defines, for registers of W bytes, the scalar in which it computes, the vector in which it is stored
// (Packed), the number of accumulators that a Packed fills (kParts), and the conversions between Packed and
// accumulators.

template <class S>
struct Plain {
  using Scalar = S;
  using Stored = S;
  static constexpr int kParts = 1;
  template <int W>
  using Packed = Vec<S, W>;
  template <int W>
  static JCCL_INLINE void unpack(Packed<W> packed, Vec<S, W> (&acc)[1]) {
    acc[0] = packed;
  }
  template <int W>
  static JCCL_INLINE Packed<W> pack(const Vec<S, W> (&acc)[1]) {
    return acc[0];
  }
};

// Floats of 16 and 8 bits, converted without shuffles: the halves (or bytes) at one position of all 32-bit words form
// an accumulator.
template <class Format, class Bits>
struct InWords {
  using Scalar = float;
  using Stored = Bits;
  static constexpr int kParts = sizeof(uint32_t) / sizeof(Bits);
  static constexpr int kBits = 32 / kParts;
  template <int W>
  using Packed = Vec<uint32_t, W>;
  template <int W>
  static JCCL_INLINE void unpack(Packed<W> packed, Vec<float, W> (&acc)[kParts]) {
    JCCL_UNROLL
    for (int p = 0; p < kParts; ++p) acc[p] = Format::template widen<W>((packed >> (p * kBits)) & ((1u << kBits) - 1));
  }
  template <int W>
  static JCCL_INLINE Packed<W> pack(const Vec<float, W> (&acc)[kParts]) {
    Packed<W> packed = Format::template narrow<W>(acc[0]);
    JCCL_UNROLL
    for (int p = 1; p < kParts; ++p) packed |= Format::template narrow<W>(acc[p]) << (p * kBits);
    return packed;
  }
};

using Bfloat16Element = InWords<Bfloat16Format, uint16_t>;
using E4m3Element = InWords<Float8Format<E4m3Layout>, uint8_t>;
using E5m2Element = InWords<Float8Format<E5m2Layout>, uint8_t>;

#if defined(__F16C__) || defined(__aarch64__)
struct Float16Element {
  using Scalar = float;
  using Stored = uint16_t;
  static constexpr int kParts = 1;
  template <int W>
  using Packed = Vec<uint16_t, W / 2>;
  template <int W>
  static JCCL_INLINE void unpack(Packed<W> packed, Vec<float, W> (&acc)[1]) {
    acc[0] = widenFloat16<W>(packed);
  }
  template <int W>
  static JCCL_INLINE Packed<W> pack(const Vec<float, W> (&acc)[1]) {
    return narrowFloat16<W>(acc[0]);
  }
};
#else
using Float16Element = InWords<Float16Format, uint16_t>;
#endif

// An operation folds accumulators with apply() and changes the result with finish(). One object is made per kernel
// call. If the NaNs of apply() may differ between processors (kMakesNan), applyExactly() computes the right ones.

struct NoFinish {
  explicit NoFinish(const PostOp&) {}
  template <class S, int W>
  JCCL_INLINE Vec<S, W> finish(Vec<S, W> acc) const {
    return acc;
  }
};

// Operations that choose one of their operands or combine bits, so that no NaN arises from numbers.
struct ChoosingOp : NoFinish {
  using NoFinish::NoFinish;
  static constexpr bool kMakesNan = false;
};

// The operation of a copy, which never has a second source.
struct CopyOp : ChoosingOp {
  using ChoosingOp::ChoosingOp;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W>) {
    return a;
  }
};

struct Adding {
  static constexpr bool kMakesNan = kNanNeedsRule;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return addVec<S, W>(a, b);
  }
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> applyExactly(Vec<S, W> a, Vec<S, W> b) {
    return nanRule<S, W>(a, b, addVec<S, W>(a, b));
  }
};

struct SumOp : NoFinish, Adding {
  using NoFinish::NoFinish;
};

struct ProdOp : NoFinish {
  using NoFinish::NoFinish;
  static constexpr bool kMakesNan = kNanNeedsRule;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return mulVec<S, W>(a, b);
  }
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> applyExactly(Vec<S, W> a, Vec<S, W> b) {
    return nanRule<S, W>(a, b, mulVec<S, W>(a, b));
  }
};

struct MinOp : ChoosingOp {
  using ChoosingOp::ChoosingOp;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return minVec<S, W>(a, b);
  }
};

struct MaxOp : ChoosingOp {
  using ChoosingOp::ChoosingOp;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return maxVec<S, W>(a, b);
  }
};

struct AndOp : ChoosingOp {
  using ChoosingOp::ChoosingOp;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return a & b;
  }
};

struct OrOp : ChoosingOp {
  using ChoosingOp::ChoosingOp;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return a | b;
  }
};

struct XorOp : ChoosingOp {
  using ChoosingOp::ChoosingOp;
  template <class S, int W>
  static JCCL_INLINE Vec<S, W> apply(Vec<S, W> a, Vec<S, W> b) {
    return a ^ b;
  }
};

struct AvgOp : Adding {
  explicit AvgOp(const PostOp& post) : divisor(post.divisor) {}

  template <class S, int W>
  JCCL_INLINE Vec<S, W> finish(Vec<S, W> acc) const {
    if constexpr (isFloating<S>) {
      return acc / static_cast<S>(divisor);
    } else if constexpr (sizeof(S) <= 2) {
      return truncatedQuotient<S, W, float>(acc);
    } else if constexpr (sizeof(S) == 4) {
      return truncatedQuotient<S, W, double>(acc);
    } else if ((divisor & (divisor - 1)) == 0) {
      // Shifting rounds down, so a negative dividend is first moved up by divisor - 1.
      const int shift = __builtin_ctz(divisor);
      const Vec<S, W> negative = bitsOf<Vec<S, W>>(acc < S{0});
      return (acc + (negative & (S{0} + static_cast<S>(divisor - 1)))) >> shift;
    } else {
      return truncatedQuotient<S, W, S>(acc);
    }
  }

 private:
  // Divides in F: float for integers of 8 and 16 bits, double for those of 32 bits, otherwise S itself. A quotient of
  // such integers, correctly rounded to 24 or 53 bits, never crosses the next integer, so truncating it yields the
  // integer quotient.
  template <class S, int W, class F>
  JCCL_INLINE Vec<S, W> truncatedQuotient(Vec<S, W> acc) const {
    S lanes[W / sizeof(S)];
    __builtin_memcpy(lanes, &acc, W);
    for (S& lane : lanes) {
      lane = static_cast<S>(static_cast<F>(lane) / static_cast<F>(divisor));
    }
    __builtin_memcpy(&acc, lanes, W);
    return acc;
  }

  uint32_t divisor;
};

}  // namespace
}  // namespace jccl
