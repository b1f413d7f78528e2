// A small vector layer under the reduction kernels: registers of W bytes, written once with the compiler's vector
// types.
//
// This header is compiled once per instruction set, with different flags. Everything in it has internal linkage (the
// unnamed namespace), and it calls no inline function of the standard library: of a shared inline function the linker
// keeps only one version, perhaps one with instructions that the running processor lacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/float8.h"

#if defined(__x86_64__)
// The header of GCC 12 initialises its "undefined" registers with themselves and then warns about that.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define JCCL_INLINE inline __attribute__((always_inline))
// Loops over registers must be unrolled completely: an array indexed by a variable is kept in memory.
#define JCCL_UNROLL _Pragma("GCC unroll 16")

namespace jccl {
namespace {

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif

template <class S, int W>
struct VecType {
  typedef S type __attribute__((vector_size(W)));
};

template <class S, int W>
using Vec = typename VecType<S, W>::type;

template <class To, class From>
JCCL_INLINE To bitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class V>
JCCL_INLINE V loadUnaligned(const char* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class V>
JCCL_INLINE void storeUnaligned(char* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}

// A non-temporal store. `to` must be aligned to the size of V.
template <class V>
JCCL_INLINE void storeStreaming(char* to, V v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), bitsOf<__m512i>(v));
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), bitsOf<__m256i>(v));
    return;
  }
#endif
#if defined(__x86_64__)
  if constexpr (sizeof(V) == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), bitsOf<__m128i>(v));
    return;
  } else if constexpr (sizeof(V) == 8) {
    _mm_stream_si64(reinterpret_cast<long long*>(to), bitsOf<long long>(v));
    return;
  }
#endif
  storeUnaligned(to, v);
}

// Orders the streamed stores before every later store, as other cores see them.
JCCL_INLINE void streamingFence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// ---- unsigned words by size

template <int Bytes>
struct Word;
template <>
struct Word<1> {
  using type = uint8_t;
};
template <>
struct Word<2> {
  using type = uint16_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<8> {
  using type = uint64_t;
};

template <int Bytes>
using WordOf = typename Word<Bytes>::type;

template <int Bytes>
JCCL_INLINE uint64_t loadWord(const char* from) {
  WordOf<Bytes> word;
  __builtin_memcpy(&word, from, Bytes);
  return word;
}

template <int Bytes>
JCCL_INLINE void storeWord(char* to, uint64_t value) {
  const auto word = static_cast<WordOf<Bytes>>(value);
  __builtin_memcpy(to, &word, Bytes);
}

template <class S>
constexpr bool isFloating = static_cast<S>(0.5) != static_cast<S>(0);

// ---- arithmetic
//
// On every processor, NaN op NaN has the payload of the first operand, and a NaN that an operation makes is negative:
// ranks on different processors must agree. A compiler may swap the operands of + and *. x86's instructions follow this
// rule, so sums and products of floats name these instructions. Other processors need a correction when a result is
// NaN: see nanRule.

#if defined(__AVX__)
#define JCCL_ORDERED(mnemonic, r, a, b) __asm__("v" mnemonic " %2, %1, %0" : "=v"(r) : "v"(a), "v"(b))
#elif defined(__x86_64__)
#define JCCL_ORDERED(mnemonic, r, a, b) \
  r = a;                                \
  __asm__(mnemonic " %1, %0" : "+x"(r) : "x"(b))
#endif

#if defined(JCCL_ORDERED)
constexpr bool kNanNeedsRule = false;
#else
constexpr bool kNanNeedsRule = true;
#endif

// Returns true if an element is NaN.
template <class S, int W>
JCCL_INLINE bool anyNan(Vec<S, W> v) {
  const auto words = bitsOf<Vec<uint64_t, W>>(v != v);
  uint64_t any = 0;
  JCCL_UNROLL
  for (int i = 0; i < W / 8; ++i) any |= words[i];
  return any != 0;
}

// Replaces the NaNs in `result`, a sum or product of a and b, by those that x86 would compute.
template <class S, int W>
JCCL_INLINE Vec<S, W> nanRule(Vec<S, W> a, Vec<S, W> b, Vec<S, W> result) {
  using U = Vec<WordOf<sizeof(S)>, W>;
  constexpr auto quiet = static_cast<WordOf<sizeof(S)>>(WordOf<sizeof(S)>{1} << (sizeof(S) == 4 ? 22 : 51));
  const U made = U{} - quiet;  // all ones from the quiet bit upwards
  const U nan = a != a ? bitsOf<U>(a) | quiet : b != b ? bitsOf<U>(b) | quiet : made;
  return result != result ? bitsOf<Vec<S, W>>(nan) : result;
}

template <class S, int W>
JCCL_INLINE Vec<S, W> addVec(Vec<S, W> a, Vec<S, W> b) {
  if constexpr (!isFloating<S>) {
    using U = Vec<WordOf<sizeof(S)>, W>;  // unsigned: wrapping is defined
    return bitsOf<Vec<S, W>>(bitsOf<U>(a) + bitsOf<U>(b));
  } else {
#if defined(JCCL_ORDERED)
    Vec<S, W> r;
    if constexpr (sizeof(S) == 4) {
      JCCL_ORDERED("addps", r, a, b);
    } else {
      JCCL_ORDERED("addpd", r, a, b);
    }
    return r;
#else
    return a + b;
#endif
  }
}

template <class S, int W>
JCCL_INLINE Vec<S, W> mulVec(Vec<S, W> a, Vec<S, W> b) {
  if constexpr (!isFloating<S>) {
    using U = Vec<WordOf<sizeof(S)>, W>;
    return bitsOf<Vec<S, W>>(bitsOf<U>(a) * bitsOf<U>(b));
  } else {
#if defined(JCCL_ORDERED)
    Vec<S, W> r;
    if constexpr (sizeof(S) == 4) {
      JCCL_ORDERED("mulps", r, a, b);
    } else {
      JCCL_ORDERED("mulpd", r, a, b);
    }
    return r;
#else
    return a * b;
#endif
  }
}

template <class S, int W>
JCCL_INLINE Vec<S, W> minVec(Vec<S, W> a, Vec<S, W> b) {
  if constexpr (isFloating<S>) {
    return ((a < b) | (a != a)) ? a : b;
  } else {
    return a < b ? a : b;
  }
}

template <class S, int W>
JCCL_INLINE Vec<S, W> maxVec(Vec<S, W> a, Vec<S, W> b) {
  if constexpr (isFloating<S>) {
    return ((a > b) | (a != a)) ? a : b;
  } else {
    return a > b ? a : b;
  }
}

// ---- 16-bit floats, in the lower halves of 32-bit words

struct Bfloat16Format {
  template <int W>
  static JCCL_INLINE Vec<float, W> widen(Vec<uint32_t, W> bits) {
    return bitsOf<Vec<float, W>>(bits << 16);
  }

  template <int W>
  static JCCL_INLINE Vec<uint32_t, W> narrow(Vec<float, W> f) {
    using U = Vec<uint32_t, W>;
    const U bits = bitsOf<U>(f);
    const U rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const U quietNan = bits | 0x400000u;
    return (f != f ? quietNan : rounded) >> 16;
  }
};

// Computes the same bits as the conversion instructions. binary16 has 5 exponent and 10 fraction bits.
struct Float16Format {
  template <int W>
  static JCCL_INLINE Vec<float, W> widen(Vec<uint32_t, W> bits) {
    using I = Vec<int32_t, W>;
    const I magnitude = bitsOf<I>(bits & 0x7fffu);
    const I normal = (magnitude << 13) + (112 << 23);  // the exponent's bias grows from 15 to 127
    const I special = (magnitude << 13) | 0x7f800000 | ((magnitude > 0x7c00) & 0x00400000);
    const I subnormal = bitsOf<I>(__builtin_convertvector(magnitude, Vec<float, W>) * 0x1p-24f);
    const I value = magnitude >= 0x7c00 ? special : magnitude < 0x400 ? subnormal : normal;
    return bitsOf<Vec<float, W>>(bitsOf<Vec<uint32_t, W>>(value) | ((bits & 0x8000u) << 16));
  }

  template <int W>
  static JCCL_INLINE Vec<uint32_t, W> narrow(Vec<float, W> f) {
    using I = Vec<int32_t, W>;
    using U = Vec<uint32_t, W>;
    using F = Vec<float, W>;
    const U bits = bitsOf<U>(f);
    const I magnitude = bitsOf<I>(bits & 0x7fffffffu);
    const U normal = (bitsOf<U>(magnitude) - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
    // Adding 0.5 makes the processor round to a multiple of 2^-24, the unit of the subnormals.
    const U subnormal = bitsOf<U>(bitsOf<F>(magnitude) + 0.5f) - bitsOf<uint32_t>(0.5f);
    const U nan = ((bits >> 13) & 0x3ffu) | 0x7e00u;
    const U infinity = U{} + 0x7c00u;
    const U finite = magnitude < 0x38800000 ? subnormal : normal;  // 2^-14, the smallest normal
    const U value = magnitude > 0x7f800000 ? nan : magnitude >= 0x477ff000 ? infinity : finite;  // infinite from 65520
    return value | ((bits >> 16) & 0x8000u);
  }
};

#if defined(__aarch64__)

template <int W>
JCCL_INLINE Vec<float, W> widenFloat16(Vec<uint16_t, W / 2> h) {
  return bitsOf<Vec<float, W>>(vcvt_f32_f16(bitsOf<float16x4_t>(h)));
}

template <int W>
JCCL_INLINE Vec<uint16_t, W / 2> narrowFloat16(Vec<float, W> f) {
  return bitsOf<Vec<uint16_t, W / 2>>(vcvt_f16_f32(bitsOf<float32x4_t>(f)));
}

#elif defined(__F16C__)

template <int W>
JCCL_INLINE Vec<float, W> widenFloat16(Vec<uint16_t, W / 2> h) {
#if defined(__AVX512F__)
  if constexpr (W == 64) {
    return bitsOf<Vec<float, W>>(_mm512_cvtph_ps(bitsOf<__m256i>(h)));
  }
#endif
  if constexpr (W == 32) {
    return bitsOf<Vec<float, W>>(_mm256_cvtph_ps(bitsOf<__m128i>(h)));
  } else if constexpr (W == 16) {
    return bitsOf<Vec<float, W>>(_mm_cvtph_ps(_mm_cvtsi64_si128(bitsOf<long long>(h))));
  }
}

template <int W>
JCCL_INLINE Vec<uint16_t, W / 2> narrowFloat16(Vec<float, W> f) {
  using H = Vec<uint16_t, W / 2>;
#if defined(__AVX512F__)
  if constexpr (W == 64) {
    return bitsOf<H>(_mm512_cvtps_ph(bitsOf<__m512>(f), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  if constexpr (W == 32) {
    return bitsOf<H>(_mm256_cvtps_ph(bitsOf<__m256>(f), _MM_FROUND_TO_NEAREST_INT));
  } else if constexpr (W == 16) {
    return bitsOf<H>(_mm_cvtsi128_si64(_mm_cvtps_ph(bitsOf<__m128>(f), _MM_FROUND_TO_NEAREST_INT)));
  }
}

#endif

// ---- 8-bit floats, in the lowest bytes of 32-bit words

template <class Layout>
struct Float8Format {
  template <int W>
  static JCCL_INLINE Vec<float, W> widen(Vec<uint32_t, W> bits) {
    using I = Vec<int32_t, W>;
    using F = Vec<float, W>;
    constexpr float unit = __builtin_bit_cast(float, Layout::kUnit);
    const I magnitude = bitsOf<I>(bits & 0x7fu);
    const I normal = (magnitude << Layout::kShift) + Layout::kRebias;
    const I special = (magnitude << Layout::kShift) | 0x7f800000 | ((magnitude > Layout::kInfinity) & 0x00400000);
    const I subnormal = bitsOf<I>(__builtin_convertvector(magnitude, F) * unit);
    const I finite = magnitude < (1 << Layout::kFractionBits) ? subnormal : normal;
    const I value = magnitude >= Layout::kFirstSpecial ? special : finite;
    return bitsOf<F>(bitsOf<Vec<uint32_t, W>>(value) | ((bits & 0x80u) << 24));
  }

  template <int W>
  static JCCL_INLINE Vec<uint32_t, W> narrow(Vec<float, W> f) {
    using I = Vec<int32_t, W>;
    using U = Vec<uint32_t, W>;
    using F = Vec<float, W>;
    constexpr float rounder = __builtin_bit_cast(float, Layout::kRounder);
    const U bits = bitsOf<U>(f);
    const I magnitude = bitsOf<I>(bits & 0x7fffffffu);
    const I largest = I{} + Layout::kLargest;
    const I number = magnitude < largest ? magnitude : largest;
    const I odd = (number >> Layout::kShift) & 1;
    const I normal = (number - Layout::kRebias + ((1 << (Layout::kShift - 1)) - 1) + odd) >> Layout::kShift;
    const I subnormal = bitsOf<I>(bitsOf<F>(number) + rounder) - Layout::kRounder;
    const I nan = ((magnitude >> 21) & Layout::kPayload) | Layout::kQuietNan;
    const I finite = number < Layout::kSmallestNormal ? subnormal : normal;
    const I value = magnitude > 0x7f800000 ? nan : finite;
    return bitsOf<U>(value) | ((bits >> 24) & 0x80u);
  }
};

}  // namespace
}  // namespace jccl
