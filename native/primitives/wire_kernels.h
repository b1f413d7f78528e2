// The loops that narrow and widen chunks, and the table of all of them. Compiled once per instruction set;
// reduce_vector.h says what that forbids. Compiled without contraction of products and sums, so that all instruction
// sets compute the same bits.
#pragma once

#include "primitives/reduce_vector.h"
#include "primitives/wire_tables.h"

namespace jccl {
namespace {

constexpr int kLanes = kRegisterBytes / 4;
using Floats = Vec<float, kRegisterBytes>;
using Ints = Vec<int32_t, kRegisterBytes>;
using Words = Vec<uint32_t, kRegisterBytes>;

constexpr int kBlock = static_cast<int>(kWireBlock);
constexpr int32_t kMagnitude = 0x7fffffff;
constexpr int32_t kInfinityBits = 0x7f800000;
constexpr uint32_t kSpecialFlag = 1;  // in a scale: the block has infinities or NaNs
// Scales have a lower limit, so that neither a scale nor its reciprocal is subnormal or infinite. Blocks of smaller
// elements are rounded to multiples of 2^-126.
constexpr float kSmallestScale = 0x1p-126f;

JCCL_INLINE Floats loadFloats(const float* from) { return loadUnaligned<Floats>(reinterpret_cast<const char*>(from)); }
JCCL_INLINE void storeFloats(float* to, Floats floats) { storeUnaligned(reinterpret_cast<char*>(to), floats); }
JCCL_INLINE Words loadWords(const uint8_t* from) { return loadUnaligned<Words>(reinterpret_cast<const char*>(from)); }
JCCL_INLINE void storeWords(uint8_t* to, Words words) { storeUnaligned(reinterpret_cast<char*>(to), words); }

// Random numbers by position: a hash with two multiplications (constants of "lowbias32" by C. Wellons) and a third with
// the second half of the key.
struct Random {
  uint32_t a, b;

  // Returns the numbers of a block.
  static JCCL_INLINE Random of(uint64_t key, size_t position) {
    uint64_t x = key + static_cast<uint64_t>(position >> 32) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return {static_cast<uint32_t>(x) + static_cast<uint32_t>(position), static_cast<uint32_t>(x >> 32)};
  }

  template <class U>
  JCCL_INLINE U hash(U x) const {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    x = (x ^ b) * 0x9e3779b1u;
    return x ^ (x >> 16);
  }

  // Returns the uppermost `Bits` bits of the numbers of a register's elements, the first of which is `index`.
  template <int Bits>
  JCCL_INLINE Words lanes(int index) const {
    Words at;
    JCCL_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) at[lane] = static_cast<uint32_t>(lane);
    return hash<Words>(at + (a + static_cast<uint32_t>(index))) >> (32 - Bits);
  }

  template <int Bits>
  JCCL_INLINE uint32_t one(int index) const {
    return hash<uint32_t>(a + static_cast<uint32_t>(index)) >> (32 - Bits);
  }
};

JCCL_INLINE Floats magnitudeOf(Floats f) { return bitsOf<Floats>(bitsOf<Ints>(f) & kMagnitude); }

JCCL_INLINE int32_t magnitudeBits(float f) { return bitsOf<int32_t>(f) & kMagnitude; }

// Returns the bits of the largest magnitude of a block. They are those of a NaN or an infinity if the block has one.
JCCL_INLINE int32_t largestBits(const float* in) {
  Ints largest = bitsOf<Ints>(loadFloats(in)) & kMagnitude;
  for (int i = kLanes; i < kBlock; i += kLanes) {
    const Ints next = bitsOf<Ints>(loadFloats(in + i)) & kMagnitude;
    largest = next > largest ? next : largest;
  }
  int32_t result = 0;
  JCCL_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) result = largest[lane] > result ? largest[lane] : result;
  return result;
}

// Returns the bits of the largest finite magnitude of a block.
inline int32_t largestFiniteBits(const float* in) {
  int32_t result = 0;
  for (int i = 0; i < kBlock; ++i) {
    const int32_t bits = magnitudeBits(in[i]);
    if (bits < kInfinityBits && bits > result) result = bits;
  }
  return result;
}

// ---- 16-bit formats. A format converts registers, with the results in the lower halves of words.

struct Bfloat16Wire {
  static JCCL_INLINE Floats widen(Words bits) { return Bfloat16Format::widen<kRegisterBytes>(bits); }
  static JCCL_INLINE Words narrow(Floats f) { return Bfloat16Format::narrow<kRegisterBytes>(f); }
  static JCCL_INLINE Words narrowRandomly(Floats f, const Random& random, int index) {
    const Words bits = bitsOf<Words>(f);
    const Words rounded = bits + random.lanes<16>(index);
    return (f != f ? bits | 0x400000u : rounded) >> 16;
  }
};

struct Float16Wire {
  static JCCL_INLINE Floats widen(Words bits) { return Float16Format::widen<kRegisterBytes>(bits); }
  static JCCL_INLINE Words narrow(Floats f) { return Float16Format::narrow<kRegisterBytes>(f); }
  static JCCL_INLINE Words narrowRandomly(Floats f, const Random& random, int index) {
    const Words bits = bitsOf<Words>(f);
    const Ints magnitude = bitsOf<Ints>(f) & kMagnitude;
    const Ints noise = bitsOf<Ints>(random.lanes<13>(index));
    const Ints normal = (magnitude - (112 << 23) + noise) >> 13;
    // In units of 2^-24, the smallest subnormal: below 1024, so a sum with 13 bits of noise is exact.
    const Floats units = magnitudeOf(f) * 0x1p24f + __builtin_convertvector(noise, Floats) * 0x1p-13f;
    const Ints small = magnitude < 0x38800000;  // 2^-14, the smallest normal
    const Ints subnormal = __builtin_convertvector(small ? units : Floats{}, Ints);
    const Ints finite = small ? subnormal : normal;
    const Ints nan = ((magnitude >> 13) & 0x3ff) | 0x7e00;
    const Ints infinity = Ints{} + 0x7c00;
    const Ints value = magnitude > kInfinityBits ? nan : magnitude >= 0x47800000 ? infinity : finite;  // 65536
    return bitsOf<Words>(value) | ((bits >> 16) & 0x8000u);
  }
};

template <class Format>
struct Halves {
  static constexpr size_t kScale = 0;
  static constexpr size_t kElement = 2;

  template <bool Stochastic>
  static JCCL_INLINE void narrow(const float* in, uint8_t* out, const Random& random) {
    const auto one = [&](int i) {
      const Floats f = loadFloats(in + i);
      return Stochastic ? Format::narrowRandomly(f, random, i) : Format::narrow(f);
    };
    for (int i = 0; i < kBlock / 2; i += kLanes) storeWords(out + 4 * i, one(i) | one(i + kBlock / 2) << 16);
  }

  static JCCL_INLINE void widen(const uint8_t* in, float* out) {
    for (int i = 0; i < kBlock / 2; i += kLanes) {
      const Words packed = loadWords(in + 4 * i);
      storeFloats(out + i, Format::widen(packed & 0xffffu));
      storeFloats(out + i + kBlock / 2, Format::widen(packed >> 16));
    }
  }
};

// ---- 8-bit formats with a scale

constexpr int kQuarter = kBlock / 4;

// Returns the place of an element's code in a whole block.
JCCL_INLINE int codeOffset(int index) { return 4 * (index % kQuarter) + index / kQuarter; }

JCCL_INLINE void storeScale(uint8_t* out, uint32_t scale) { __builtin_memcpy(out, &scale, sizeof scale); }
JCCL_INLINE uint32_t loadScale(const uint8_t* in) {
  uint32_t scale;
  __builtin_memcpy(&scale, in, sizeof scale);
  return scale;
}

struct Int8Scale {
  static constexpr int kLargest = 127;
  static constexpr int kLargestOfSpecial = 126;  // in a block with infinities, whose codes are 127 and -127
  static constexpr int kNan = -128;

  // A scale has 16 significant bits, so its products with codes are exact. It is rounded down, so the largest element
  // becomes the largest code, and narrowing the result again finds the same scale.
  static JCCL_INLINE float scaleOf(int32_t largest, int codes) {
    const float exact = bitsOf<float>(largest) / static_cast<float>(codes);
    const float scale = bitsOf<float>(bitsOf<uint32_t>(exact) & ~0xffu);
    return scale > kSmallestScale ? scale : kSmallestScale;
  }
};

struct Int8Wire {
  static constexpr size_t kScale = kWireScaleBytes;
  static constexpr size_t kElement = 1;

  template <bool Stochastic>
  static JCCL_INLINE void narrow(const float* in, uint8_t* out, const Random& random) {
    const int32_t largest = largestBits(in);
    if (__builtin_expect(largest >= kInfinityBits, 0)) return narrowSpecial<Stochastic>(in, out, random);
    const float scale = Int8Scale::scaleOf(largest, Int8Scale::kLargest);
    const float reciprocal = 1.0f / scale;
    storeScale(out, bitsOf<uint32_t>(scale));
    for (int i = 0; i < kQuarter; i += kLanes) {
      Words packed{};
      JCCL_UNROLL
      for (int part = 0; part < 4; ++part) {
        const int index = part * kQuarter + i;
        const Floats f = loadFloats(in + index);
        Ints code;
        if constexpr (Stochastic) {
          // A quotient, unlike a product with the reciprocal, is exact for multiples of the scale.
          Floats steps = f / scale;
          const Floats most = Floats{} + static_cast<float>(Int8Scale::kLargest);
          steps = steps > most ? most : steps < -most ? -most : steps;
          const Floats noise = __builtin_convertvector(bitsOf<Ints>(random.lanes<16>(index)), Floats) * 0x1p-16f;
          code = __builtin_convertvector(steps + 128.0f + noise, Ints) - 128;
        } else {
          // Adding 1.5 x 2^23 rounds to an integer, which the lowest bits then contain.
          const Floats rounded = f * reciprocal + 0x1.8p23f;
          code = bitsOf<Ints>(rounded) - bitsOf<int32_t>(0x1.8p23f);
        }
        packed |= (bitsOf<Words>(code) & 0xffu) << (8 * part);
      }
      storeWords(out + kScale + 4 * i, packed);
    }
  }

  static JCCL_INLINE void widen(const uint8_t* in, float* out) {
    const uint32_t word = loadScale(in);
    const float scale = bitsOf<float>(word & ~0xffu);
    for (int i = 0; i < kQuarter; i += kLanes) {
      const Words packed = loadWords(in + kScale + 4 * i);
      JCCL_UNROLL
      for (int part = 0; part < 4; ++part) {
        const Ints code = bitsOf<Ints>(packed << (24 - 8 * part)) >> 24;
        storeFloats(out + part * kQuarter + i, __builtin_convertvector(code, Floats) * scale);
      }
    }
    if (__builtin_expect((word & kSpecialFlag) != 0, 0)) widenSpecial(in, out);
  }

 private:
  template <bool Stochastic>
  static __attribute__((noinline)) void narrowSpecial(const float* in, uint8_t* out, const Random& random) {
    const float scale = Int8Scale::scaleOf(largestFiniteBits(in), Int8Scale::kLargestOfSpecial);
    storeScale(out, bitsOf<uint32_t>(scale) | kSpecialFlag);
    for (int i = 0; i < kBlock; ++i) {
      int code;
      if (in[i] != in[i]) {
        code = Int8Scale::kNan;
      } else if (magnitudeBits(in[i]) == kInfinityBits) {
        code = in[i] > 0 ? Int8Scale::kLargest : -Int8Scale::kLargest;
      } else {
        float steps = in[i] / scale;
        const auto most = static_cast<float>(Int8Scale::kLargestOfSpecial);
        steps = steps > most ? most : steps < -most ? -most : steps;
        if constexpr (Stochastic) {
          const float noise = static_cast<float>(static_cast<int32_t>(random.one<16>(i))) * 0x1p-16f;
          code = static_cast<int>(steps + 128.0f + noise) - 128;
        } else {
          code = bitsOf<int32_t>(steps + 0x1.8p23f) - bitsOf<int32_t>(0x1.8p23f);
        }
      }
      out[kScale + static_cast<size_t>(codeOffset(i))] = static_cast<uint8_t>(code);
    }
  }

  static __attribute__((noinline)) void widenSpecial(const uint8_t* in, float* out) {
    for (int i = 0; i < kBlock; ++i) {
      const auto code = static_cast<int8_t>(in[kScale + static_cast<size_t>(codeOffset(i))]);
      if (code == Int8Scale::kNan) out[i] = bitsOf<float>(0x7fc00000u);
      if (code == Int8Scale::kLargest) out[i] = bitsOf<float>(static_cast<uint32_t>(kInfinityBits));
      if (code == -Int8Scale::kLargest) out[i] = -bitsOf<float>(static_cast<uint32_t>(kInfinityBits));
    }
  }
};

// Codes of e4m3, without the sign, in blocks with infinities: the largest number stands for an infinity there.
constexpr int32_t kFloat8Nan = 0x7f;
constexpr int32_t kFloat8Infinity = 0x7e;

struct Float8Scale {
  int exponent;   // the scale is 2^exponent
  int32_t limit;  // the largest code that is used, without the sign

  // Returns the smallest power of two that makes the largest element at most 448, the largest number of e4m3, or 416 in
  // a block with infinities. The largest scale would make 2^128 of the codes from 0x78 on, so it does not use them.
  static JCCL_INLINE Float8Scale of(int32_t largest, bool special) {
    constexpr int kSmallest = -117;                      // the smallest subnormal, 2^-9, then becomes 2^-126
    const int32_t most = special ? 0x500000 : 0x600000;  // fraction of 416 = 1.625 x 2^8, or 448 = 1.75 x 2^8
    const int exponent = (largest >> 23) - 127 - 8 + ((largest & 0x7fffff) > most ? 1 : 0);
    const int32_t limit = exponent == 120 ? 0x77 : special ? kFloat8Infinity - 1 : kFloat8Infinity;
    return {exponent > kSmallest ? exponent : kSmallest, limit};
  }

  JCCL_INLINE float scale() const { return bitsOf<float>((127 + exponent) << 23); }
  JCCL_INLINE float reciprocal() const { return bitsOf<float>((127 - exponent) << 23); }
};

struct Float8Wire {
  static constexpr size_t kScale = kWireScaleBytes;
  static constexpr size_t kElement = 1;
  using Format = Float8Format<E4m3Layout>;

  template <bool Stochastic>
  static JCCL_INLINE void narrow(const float* in, uint8_t* out, const Random& random) {
    const int32_t largest = largestBits(in);
    const bool special = largest >= kInfinityBits;
    const Float8Scale scale = Float8Scale::of(special ? largestFiniteBits(in) : largest, special);
    storeScale(out, bitsOf<uint32_t>(scale.scale()) | (special ? kSpecialFlag : 0));
    const float reciprocal = scale.reciprocal();
    const Ints limit = Ints{} + scale.limit;
    for (int i = 0; i < kQuarter; i += kLanes) {
      Words packed{};
      JCCL_UNROLL
      for (int part = 0; part < 4; ++part) {
        const int index = part * kQuarter + i;
        const Floats f = loadFloats(in + index);
        const Floats scaled = f * reciprocal;
        const Words bits = bitsOf<Words>(f);
        Ints code;
        if constexpr (Stochastic) {
          code = roundRandomly(scaled, random.lanes<20>(index));
        } else {
          code = bitsOf<Ints>(Format::narrow<kRegisterBytes>(scaled)) & 0x7f;
        }
        code = code > limit ? limit : code;
        if (__builtin_expect(special, 0)) {
          const Ints magnitude = bitsOf<Ints>(f) & kMagnitude;
          const Ints infinity = Ints{} + kFloat8Infinity;
          const Ints nan = Ints{} + kFloat8Nan;
          code = magnitude > kInfinityBits ? nan : magnitude == kInfinityBits ? infinity : code;
        }
        packed |= (bitsOf<Words>(code) | ((bits >> 24) & 0x80u)) << (8 * part);
      }
      storeWords(out + kScale + 4 * i, packed);
    }
  }

  static JCCL_INLINE void widen(const uint8_t* in, float* out) {
    const uint32_t word = loadScale(in);
    const float scale = bitsOf<float>(word & ~0xffu);
    for (int i = 0; i < kQuarter; i += kLanes) {
      const Words packed = loadWords(in + kScale + 4 * i);
      JCCL_UNROLL
      for (int part = 0; part < 4; ++part) {
        const Words code = (packed >> (8 * part)) & 0xffu;
        Floats f = Format::widen<kRegisterBytes>(code) * scale;
        if (__builtin_expect((word & kSpecialFlag) != 0, 0)) {
          const Words infinity = ((code & 0x80u) << 24) | static_cast<uint32_t>(kInfinityBits);
          f = (code & 0x7fu) == static_cast<uint32_t>(kFloat8Infinity) ? bitsOf<Floats>(infinity) : f;
        }
        storeFloats(out + part * kQuarter + i, f);
      }
    }
  }

 private:
  // Returns codes without the sign, which can be above the largest one.
  static JCCL_INLINE Ints roundRandomly(Floats f, Words noise) {
    using Layout = E4m3Layout;
    const Ints magnitude = bitsOf<Ints>(f) & kMagnitude;
    const Ints added = bitsOf<Ints>(noise);
    // Infinities and NaNs get other codes later; this keeps their sums from overflowing.
    const Ints number = magnitude < Layout::kLargest ? magnitude : Ints{} + Layout::kLargest;
    const Ints normal = (number - Layout::kRebias + added) >> Layout::kShift;
    const Ints small = magnitude < Layout::kSmallestNormal;
    const Floats units = magnitudeOf(f) * 0x1p9f + __builtin_convertvector(added, Floats) * 0x1p-20f;
    const Ints subnormal = __builtin_convertvector(small ? units : Floats{}, Ints);
    return small ? subnormal : normal;
  }
};

// ---- chunks

template <class Format>
constexpr size_t blockBytes = Format::kScale + kBlock* Format::kElement;

// Returns the place of an element in a whole block of the wire.
template <class Format>
JCCL_INLINE size_t elementOffset(size_t index) {
  constexpr size_t words = kWireBlock * Format::kElement / 4;
  return Format::kScale + 4 * (index % words) + index / words * Format::kElement;
}

template <class T>
JCCL_INLINE void toFloats(const char* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T element;
    __builtin_memcpy(&element, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(element);
  }
}

template <class T>
JCCL_INLINE void fromFloats(const float* from, char* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto element = static_cast<T>(from[i]);
    __builtin_memcpy(to + i * sizeof(T), &element, sizeof(T));
  }
}

template <class Format, bool Stochastic, class T>
void narrowChunk(const void* from, uint8_t* to, size_t position, size_t count, uint64_t key) {
  const char* in = static_cast<const char*>(from);
  while (count != 0) {
    const size_t first = position % kWireBlock;
    const size_t left = kWireBlock - first;
    const size_t n = count < left ? count : left;
    const Random random = Random::of(key, position - first);
    alignas(64) float block[kBlock];
    if (n == kWireBlock) {
      toFloats<T>(in, block, kWireBlock);
      Format::template narrow<Stochastic>(block, to, random);
    } else {
      for (float& element : block) element = 0;
      toFloats<T>(in, block + first, n);
      alignas(64) uint8_t whole[blockBytes<Format>];
      Format::template narrow<Stochastic>(block, whole, random);
      __builtin_memcpy(to, whole, Format::kScale);
      for (size_t i = 0; i < n; ++i) {
        __builtin_memcpy(to + Format::kScale + i * Format::kElement, whole + elementOffset<Format>(first + i),
                         Format::kElement);
      }
    }
    to += Format::kScale + n * Format::kElement;
    in += n * sizeof(T);
    position += n;
    count -= n;
  }
}

template <class Format, class T>
void widenChunk(const uint8_t* from, void* to, size_t position, size_t count) {
  char* out = static_cast<char*>(to);
  while (count != 0) {
    const size_t first = position % kWireBlock;
    const size_t left = kWireBlock - first;
    const size_t n = count < left ? count : left;
    alignas(64) float block[kBlock];
    if (n == kWireBlock) {
      Format::widen(from, block);
      fromFloats<T>(block, out, kWireBlock);
    } else {
      alignas(64) uint8_t whole[blockBytes<Format>];
      for (uint8_t& byte : whole) byte = 0;
      __builtin_memcpy(whole, from, Format::kScale);
      for (size_t i = 0; i < n; ++i) {
        __builtin_memcpy(whole + elementOffset<Format>(first + i), from + Format::kScale + i * Format::kElement,
                         Format::kElement);
      }
      Format::widen(whole, block);
      fromFloats<T>(block + first, out, n);
    }
    from += Format::kScale + n * Format::kElement;
    out += n * sizeof(T);
    position += n;
    count -= n;
  }
}

template <class Format>
constexpr void fillWire(WireTable& table, WireFormat format) {
  auto& codecs = table.codecs[static_cast<int>(format)];
  codecs[0][0] = {narrowChunk<Format, false, float>, widenChunk<Format, float>};
  codecs[0][1] = {narrowChunk<Format, false, double>, widenChunk<Format, double>};
  codecs[1][0] = {narrowChunk<Format, true, float>, widenChunk<Format, float>};
  codecs[1][1] = {narrowChunk<Format, true, double>, widenChunk<Format, double>};
}

constexpr WireTable makeWireTable() {
  WireTable table = {};
  fillWire<Halves<Bfloat16Wire>>(table, WireFormat::Bfloat16);
  fillWire<Halves<Float16Wire>>(table, WireFormat::Float16);
  fillWire<Float8Wire>(table, WireFormat::Float8Block);
  fillWire<Int8Wire>(table, WireFormat::Int8Block);
  return table;
}

}  // namespace
}  // namespace jccl
