// The loops of the reduction kernels and the table of all kernels. Compiled once per instruction set; reduce_vector.h
// says what that forbids.
//
// A call is divided into
//
//     [ head | block | block | ... | single ... | rest ]
//
//     head    up to the alignment of the first streamed destination, or else of destination 0 (large calls only)
//     block   kUnroll registers: all sources are read before anything is written
//     single  one register
//     rest    less than a register: narrower registers, then words of 8, 4, 2 and 1 bytes in the lower part of one
#pragma once

#include "primitives/reduce_elements.h"
#include "primitives/reduce_tables.h"

namespace jccl {
namespace {

constexpr size_t kAlignFromBytes = 1024;   // in smaller calls, crossing cache lines costs less than a head
constexpr size_t kStreamFromBytes = 4096;  // in smaller calls, the fence costs more than streaming saves
constexpr size_t kLineBytes = 64;

// The pointers of a call. N > 0: this object holds N pointers, in registers; N = 0: the number is known only at run
// time, and the pointers stay in the caller's array.
template <int N>
struct Sources {
  explicit Sources(const void* const* srcs, int) {
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) at[i] = static_cast<const char*>(srcs[i]);
  }
  static constexpr int size() { return N; }
  JCCL_INLINE const char* operator[](int i) const { return at[i]; }
  const char* at[N];
};

template <>
struct Sources<0> {
  Sources(const void* const* srcs, int nsrc) : at(srcs), n(nsrc) {}
  int size() const { return n; }
  JCCL_INLINE const char* operator[](int i) const { return static_cast<const char*>(at[i]); }
  const void* const* at;
  int n;
};

template <int N>
struct Destinations {
  Destinations(void* const* dsts, int) {
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) at[i] = static_cast<char*>(dsts[i]);
  }
  static constexpr int size() { return N; }
  JCCL_INLINE char* operator[](int i) const { return at[i]; }
  char* at[N];
};

template <>
struct Destinations<0> {
  Destinations(void* const* dsts, int ndst) : at(dsts), n(ndst) {}
  int size() const { return n; }
  JCCL_INLINE char* operator[](int i) const { return static_cast<char*>(at[i]); }
  void* const* at;
  int n;
};

template <class Element, class Op, int NSRC, int NDST>
class Kernel {
 public:
  Kernel(void* const* dsts, int ndst, const void* const* srcs, int nsrc, const PostOp& post)
      : src(srcs, nsrc), dst(dsts, ndst), op(post) {}

  JCCL_INLINE void run(size_t bytes, unsigned streamingMask) const {
    size_t at = 0;
    unsigned streaming = 0;
    if (bytes >= kAlignFromBytes) {
      at = headBytes(streamingMask);
      if (bytes >= kStreamFromBytes) streaming = alignedAt(at, streamingMask);
      words(0, at);
    }
    constexpr size_t blockBytes = kUnroll * packedBytes<kRegisterBytes>;
    for (; bytes - at >= blockBytes; at += blockBytes) {
      registers<kRegisterBytes, kUnroll>(at, streaming);
    }
    for (; bytes - at >= packedBytes<kRegisterBytes>; at += packedBytes<kRegisterBytes>) {
      registers<kRegisterBytes, 1>(at, streaming);
    }
    narrower(at, bytes - at);
    if (streaming != 0) {
      streamingFence();
    }
  }

 private:
  template <int W>
  using Packed = typename Element::template Packed<W>;
  using Scalar = typename Element::Scalar;
  static constexpr int kParts = Element::kParts;

  template <int W>
  static constexpr size_t packedBytes = sizeof(Packed<W>);

  // Number of registers in a block. Its accumulators use at most half of the register file; the other half is for the
  // operands added to them. Of the widest registers, which are as large as a cache line, four are enough.
  static constexpr int kUnroll = kRegisterBytes == 64 ? 4 : 8 / kParts;

  // Returns the length of the head: the bytes up to the next cache line of the destination that decides the alignment;
  // 0 if whole elements never end at a line.
  JCCL_INLINE size_t headBytes(unsigned streamingMask) const {
    const unsigned known = dst.size() < 32 ? streamingMask & ((1u << dst.size()) - 1) : streamingMask;
    const int decides = known != 0 ? __builtin_ctz(known) : 0;
    const size_t head = -reinterpret_cast<uintptr_t>(dst[decides]) % kLineBytes;
    return head % sizeof(typename Element::Stored) == 0 ? head : 0;
  }

  // Returns the destinations of the mask that are aligned to a cache line at this offset.
  JCCL_INLINE unsigned alignedAt(size_t at, unsigned streamingMask) const {
    unsigned aligned = 0;
    for (int d = 0; d < dst.size() && d < 32; ++d) {
      const bool onLine = (reinterpret_cast<uintptr_t>(dst[d]) + at) % kLineBytes == 0;
      aligned |= (onLine ? 1u : 0u) << d;
    }
    return aligned & streamingMask;
  }

  // The accumulators of one packed register.
  template <int W>
  struct Accumulator {
    Vec<Scalar, W> parts[kParts];

    JCCL_INLINE void load(Packed<W> packed) { Element::template unpack<W>(packed, parts); }

    template <bool Exact>
    JCCL_INLINE void fold(Packed<W> packed) {
      Accumulator other;
      other.load(packed);
      JCCL_UNROLL
      for (int p = 0; p < kParts; ++p) {
        if constexpr (Exact) {
          parts[p] = Op::template applyExactly<Scalar, W>(parts[p], other.parts[p]);
        } else {
          parts[p] = Op::template apply<Scalar, W>(parts[p], other.parts[p]);
        }
      }
    }

    JCCL_INLINE bool hasNan() const {
      bool found = false;
      JCCL_UNROLL
      for (int p = 0; p < kParts; ++p) found |= anyNan<Scalar, W>(parts[p]);
      return found;
    }

    JCCL_INLINE Packed<W> finish(const Op& op) {
      JCCL_UNROLL
      for (int p = 0; p < kParts; ++p) parts[p] = op.template finish<Scalar, W>(parts[p]);
      return Element::template pack<W>(parts);
    }
  };

  template <bool Exact, int W, int N>
  JCCL_INLINE void accumulate(Accumulator<W> (&acc)[N], size_t at) const {
    const char* first = src[0] + at;
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) acc[i].load(loadUnaligned<Packed<W>>(first + i * packedBytes<W>));
    for (int s = 1; s < src.size(); ++s) {
      const char* next = src[s] + at;
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) acc[i].template fold<Exact>(loadUnaligned<Packed<W>>(next + i * packedBytes<W>));
    }
  }

  // A NaN stays a NaN in every later sum and product, so one test of a block's results is enough.
  static constexpr bool kChecksNan = Op::kMakesNan && isFloating<Scalar>;

  template <int W, int N>
  JCCL_INLINE void registers(size_t at, unsigned streaming) const {
    Accumulator<W> acc[N];
    accumulate<false>(acc, at);
    if constexpr (kChecksNan) {
      bool found = false;
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) found |= acc[i].hasNan();
      if (__builtin_expect(found, 0)) accumulate<true>(acc, at);
    }
    Packed<W> packed[N];
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) packed[i] = acc[i].finish(op);
    for (int d = 0; d < dst.size(); ++d) {
      char* to = dst[d] + at;
      if (d < 32 && ((streaming >> d) & 1u) != 0) {
        JCCL_UNROLL
        for (int i = 0; i < N; ++i) storeStreaming(to + i * packedBytes<W>, packed[i]);
      } else {
        JCCL_UNROLL
        for (int i = 0; i < N; ++i) storeUnaligned(to + i * packedBytes<W>, packed[i]);
      }
    }
  }

  // Processes fewer bytes than the widest register holds.
  JCCL_INLINE void narrower(size_t at, size_t bytes) const {
    if constexpr (kRegisterBytes > 32) at += halfRegister<32>(at, bytes);
    if constexpr (kRegisterBytes > 16) at += halfRegister<16>(at, bytes);
    at += word<8>(at, bytes);
    at += word<4>(at, bytes);
    at += word<2>(at, bytes);
    word<1>(at, bytes);
  }

  __attribute__((noinline)) void words(size_t at, size_t bytes) const {
    for (; bytes >= packedBytes<16>; at += packedBytes<16>, bytes -= packedBytes<16>) {
      registers<16, 1>(at, 0);
    }
    at += word<8>(at, bytes);
    at += word<4>(at, bytes);
    at += word<2>(at, bytes);
    word<1>(at, bytes);
  }

  template <int W>
  JCCL_INLINE size_t halfRegister(size_t at, size_t bytes) const {
    if ((bytes & packedBytes<W>) == 0) return 0;
    registers<W, 1>(at, 0);
    return packedBytes<W>;
  }

  // Processes one word of `Bytes` bytes, in the lower part of a 16-byte register, if this bit of `bytes` is set. Does
  // nothing if an element is larger than the word, or a packed register is not.
  template <int Bytes>
  JCCL_INLINE size_t word(size_t at, size_t bytes) const {
    if constexpr (Bytes < sizeof(typename Element::Stored) || Bytes >= packedBytes<16>) {
      return 0;
    } else {
      if ((bytes & Bytes) == 0) return 0;
      Accumulator<16> acc;
      acc.load(packedWord(loadWord<Bytes>(src[0] + at)));
      for (int s = 1; s < src.size(); ++s) {
        acc.template fold<kChecksNan>(packedWord(loadWord<Bytes>(src[s] + at)));
      }
      const uint64_t result = lowerWord(acc.finish(op));
      for (int d = 0; d < dst.size(); ++d) {
        storeWord<Bytes>(dst[d] + at, result);
      }
      return Bytes;
    }
  }

  static JCCL_INLINE Packed<16> packedWord(uint64_t word) {
    if constexpr (packedBytes<16> == 16) {
      return bitsOf<Packed<16>>(Vec<uint64_t, 16>{word, 0});
    } else {
      return bitsOf<Packed<16>>(word);
    }
  }

  static JCCL_INLINE uint64_t lowerWord(Packed<16> packed) {
    if constexpr (packedBytes<16> == 16) {
      return bitsOf<Vec<uint64_t, 16>>(packed)[0];
    } else {
      return bitsOf<uint64_t>(packed);
    }
  }

  Sources<NSRC> src;
  Destinations<NDST> dst;
  Op op;
};

void copyBytes(void* const* dsts, int ndst, const void* const* srcs, size_t bytes, unsigned streamingMask) {
  const PostOp none;
  if (ndst == 1) {
    if (dsts[0] != srcs[0]) {
      Kernel<Plain<uint8_t>, CopyOp, 1, 1>(dsts, 1, srcs, 1, none).run(bytes, streamingMask);
    }
  } else if (ndst == 2) {
    Kernel<Plain<uint8_t>, CopyOp, 1, 2>(dsts, 2, srcs, 1, none).run(bytes, streamingMask);
  } else {
    Kernel<Plain<uint8_t>, CopyOp, 1, 0>(dsts, ndst, srcs, 1, none).run(bytes, streamingMask);
  }
}

// Small calls usually have two sources and one destination. The general kernel takes 2 ns longer for them; from 1 KiB
// on, both are equally fast.
template <class Element, class Op>
void reduceCopy(void* const* dsts, int ndst, const void* const* srcs, int nsrc, size_t count, const PostOp& post,
                unsigned streamingMask) {
  if (ndst <= 0) return;
  const size_t bytes = count * sizeof(typename Element::Stored);
  if (nsrc == 2 && ndst == 1) {
    Kernel<Element, Op, 2, 1>(dsts, 1, srcs, 2, post).run(bytes, streamingMask);
  } else {
    Kernel<Element, Op, 0, 0>(dsts, ndst, srcs, nsrc, post).run(bytes, streamingMask);
  }
}

// One source and no division is a copy, whatever the type.
template <class Element, class Op>
void foldingKernel(void* const* dsts, int ndst, const void* const* srcs, int nsrc, size_t count, const PostOp& post,
                   unsigned streamingMask) {
  if (nsrc == 1) {
    if (ndst > 0) copyBytes(dsts, ndst, srcs, count * sizeof(typename Element::Stored), streamingMask);
  } else {
    reduceCopy<Element, Op>(dsts, ndst, srcs, nsrc, count, post, streamingMask);
  }
}

template <class Element>
void averagingKernel(void* const* dsts, int ndst, const void* const* srcs, int nsrc, size_t count, const PostOp& post,
                     unsigned streamingMask) {
  if (post.divisor <= 1) {
    foldingKernel<Element, SumOp>(dsts, ndst, srcs, nsrc, count, post, streamingMask);
  } else {
    reduceCopy<Element, AvgOp>(dsts, ndst, srcs, nsrc, count, post, streamingMask);
  }
}

template <class Op>
struct Folding {
  template <class Element>
  static constexpr ReduceCopyFn kernel = foldingKernel<Element, Op>;
};

struct Averaging {
  template <class Element>
  static constexpr ReduceCopyFn kernel = averagingKernel<Element>;
};

// Fills one row of the table. Callers choose the element types of the kernels for signed integers, because some
// operations can use the kernels of unsigned integers.
template <class Family, class Int8 = uint8_t, class Int16 = uint16_t, class Int32 = uint32_t, class Int64 = uint64_t>
constexpr void fillIntegers(ReduceCopyFn (&row)[kDataTypeCount]) {
  const auto set = [&row](DataType type, ReduceCopyFn kernel) { row[static_cast<int>(type)] = kernel; };
  set(DataType::Int8, Family::template kernel<Plain<Int8>>);
  set(DataType::Uint8, Family::template kernel<Plain<uint8_t>>);
  set(DataType::Int16, Family::template kernel<Plain<Int16>>);
  set(DataType::Uint16, Family::template kernel<Plain<uint16_t>>);
  set(DataType::Int32, Family::template kernel<Plain<Int32>>);
  set(DataType::Uint32, Family::template kernel<Plain<uint32_t>>);
  set(DataType::Int64, Family::template kernel<Plain<Int64>>);
  set(DataType::Uint64, Family::template kernel<Plain<uint64_t>>);
}

template <class Family, class Int8, class Int16, class Int32, class Int64>
constexpr void fill(ReduceCopyFn (&row)[kDataTypeCount]) {
  fillIntegers<Family, Int8, Int16, Int32, Int64>(row);
  const auto set = [&row](DataType type, ReduceCopyFn kernel) { row[static_cast<int>(type)] = kernel; };
  set(DataType::Float16, Family::template kernel<Float16Element>);
  set(DataType::Bfloat16, Family::template kernel<Bfloat16Element>);
  set(DataType::Float32, Family::template kernel<Plain<float>>);
  set(DataType::Float64, Family::template kernel<Plain<double>>);
  set(DataType::Float8E4m3, Family::template kernel<E4m3Element>);
  set(DataType::Float8E5m2, Family::template kernel<E5m2Element>);
}

constexpr ReduceTable makeTable() {
  ReduceTable table = {};
  const auto row = [&table](ReduceOp op) -> ReduceCopyFn(&)[kDataTypeCount] {
    return table.kernels[static_cast<int>(op)];
  };
  // Wrapping sums and products have the same bits with and without a sign.
  fill<Folding<SumOp>, uint8_t, uint16_t, uint32_t, uint64_t>(row(ReduceOp::Sum));
  fill<Folding<ProdOp>, uint8_t, uint16_t, uint32_t, uint64_t>(row(ReduceOp::Prod));
  fill<Folding<MinOp>, int8_t, int16_t, int32_t, int64_t>(row(ReduceOp::Min));
  fill<Folding<MaxOp>, int8_t, int16_t, int32_t, int64_t>(row(ReduceOp::Max));
  fill<Averaging, int8_t, int16_t, int32_t, int64_t>(row(ReduceOp::Avg));
  fillIntegers<Folding<AndOp>>(row(ReduceOp::And));
  fillIntegers<Folding<OrOp>>(row(ReduceOp::Or));
  fillIntegers<Folding<XorOp>>(row(ReduceOp::Xor));
  return table;
}

}  // namespace
}  // namespace jccl
