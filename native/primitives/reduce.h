// Reductions and copies over memory: the one place where elements are added, multiplied and compared on the host.
//
// A kernel computes, for every element i,
//
//     dst[0][i] = dst[1][i] = ... = post(src[0][i] op src[1][i] op ... op src[nsrc-1][i])
//
// from left to right. Contract:
//
//  * nsrc >= 1, ndst >= 0, any count. Pointers may have any alignment, also none of the element's own.
//  * A destination may be exactly one of the sources (in place). Apart from that no destination overlaps a source or
//    another destination.
//  * Every instruction set gives the same bits, whatever the alignment and the number of sources and destinations.
//  * Integers wrap. Floats of 16 and 8 bits are accumulated in float32 over all sources of one call and rounded once, to
//    nearest even; infinities, subnormals and NaNs are kept (a NaN becomes quiet and keeps its upper payload bits), but
//    8-bit floats saturate: what is infinite or too large becomes the largest number (see base/float8.h).
//  * When several sources of a sum or product are NaN, the first one's payload is the result's.
//  * MIN and MAX: a NaN in any source gives NaN (the first one's bits). Between equal values, also between zeros of
//    different sign, the later source's bits win.
//  * AVG is SUM followed by one division by post.divisor: in float32 for floats of 16 and 8 bits (before the rounding),
//    truncated towards zero for integers (after the sum has wrapped). The other operations ignore post. The AVG kernel
//    with divisor 1 is the SUM kernel, so that intermediate steps may use either.
//  * AND, OR and XOR work on integers only.
//  * One source and nothing to divide is a copy of bytes.
//  * Bit i of streamingMask: destination i is written with non-temporal stores, which leave the caches to others. It is
//    a hint, honoured for the aligned middle of large destinations; the kernel fences before it returns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace jccl {

struct PostOp {
  uint32_t divisor = 1;  // at least 1
};

using ReduceCopyFn = void (*)(void* const* dsts, int ndst, const void* const* srcs, int nsrc, size_t count,
                              const PostOp& post, unsigned streamingMask);

enum class Isa : uint8_t { Portable = 0, Avx2 = 1, Avx512 = 2 };

inline constexpr int kIsaCount = 3;

const char* nameOf(Isa isa) noexcept;

// Whether this processor and operating system run the kernels of `isa`.
bool isaSupported(Isa isa) noexcept;

// The widest supported one.
Isa bestIsa() noexcept;

// The kernel of a type and an operation; nullptr when either is no member of its enumeration, or the operation does not work
// on the type.
ReduceCopyFn reduceCopyKernel(DataType type, ReduceOp op) noexcept;
ReduceCopyFn reduceCopyKernel(DataType type, ReduceOp op, Isa isa) noexcept;

}  // namespace jccl
