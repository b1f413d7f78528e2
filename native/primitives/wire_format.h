// The formats in which chunks of float32 and float64 cross hosts, and the functions that narrow and widen them. On the
// host, elements are narrowed only here.
//
// Elements are divided into blocks of kWireBlock, counted from the start of the operation's buffer, so that ranks agree
// on the blocks however the buffer is cut into chunks. The first and the last block of a chunk can be partial.
//
//   Bfloat16, Float16   16 bits for each element, IEEE 754 and its upper half: overflow becomes infinite
//   Float8Block         for each block a scale, a power of two, and for each element an 8-bit float (e4m3)
//   Int8Block           for each block a scale of 16 significant bits, and for each element an integer of -127 to 127
//
// A block of the last two starts with its scale, a float32. The lowest bit of the scale says that the block has
// infinities or NaNs, which then have codes of their own. A block of 128 elements is interleaved: 32-bit word i holds
// elements i, i + 32, i + 64 and i + 96 (or, of 16 bits, i and i + 64). A partial block holds its elements in order.
//
// Rounding is to nearest, ties to even, or stochastic: up or down at random, so that the expectation is the element. An
// element that a format represents is never changed. That includes all elements that widen() returns, in blocks with
// the same elements: narrowing a second time changes nothing. So a rank may forward the elements that it has widened.
//
// Every instruction set computes the same bits. float64 is first rounded to float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "primitives/reduce.h"

namespace jccl {

// The numbers are those of io.jccl.WireFormat.
enum class WireFormat : uint8_t { Exact = 0, Bfloat16 = 1, Float16 = 2, Float8Block = 3, Int8Block = 4 };
inline constexpr int kWireFormatCount = 5;

inline constexpr size_t kWireBlock = 128;
inline constexpr size_t kWireScaleBytes = 4;

// Returns the bytes of `count` elements that begin at element `position` of the buffer.
inline size_t wireBytes(WireFormat format, size_t position, size_t count) {
  if (count == 0) return 0;
  if (format == WireFormat::Bfloat16 || format == WireFormat::Float16) return 2 * count;
  const size_t blocks = (position + count - 1) / kWireBlock - position / kWireBlock + 1;
  return count + blocks * kWireScaleBytes;
}

// Narrows `count` elements of one type. `key` decides the random numbers of stochastic rounding. Pointers need no
// alignment.
using NarrowFn = void (*)(const void* from, uint8_t* to, size_t position, size_t count, uint64_t key);
// The reverse. Accepts all bits.
using WidenFn = void (*)(const uint8_t* from, void* to, size_t position, size_t count);

struct WireCodec {
  NarrowFn narrow = nullptr;
  WidenFn widen = nullptr;
};

// Returns the functions for elements of `type`; null pointers unless `type` is float32 or float64 and `format` narrows.
WireCodec wireCodec(WireFormat format, bool stochastic, DataType type) noexcept;
WireCodec wireCodec(WireFormat format, bool stochastic, DataType type, Isa isa) noexcept;

// How a rank narrows the chunks of one operation.
struct Narrowing {
  WireFormat format = WireFormat::Exact;
  WireCodec codec{};
  uint64_t key = 0;

  explicit operator bool() const { return format != WireFormat::Exact; }
  size_t bytes(size_t position, size_t count) const { return wireBytes(format, position, count); }
};

}  // namespace jccl
