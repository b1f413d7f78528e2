// Reductions and copies over memory. On the host, elements are added, multiplied and compared only here.
//
// A kernel computes, for every element i,
//
//     dst[0][i] = dst[1][i] = ... = post(src[0][i] op src[1][i] op ... op src[nsrc-1][i])
//
// from left to right. The contract:
//
//  * nsrc >= 1, ndst >= 0, any count. Pointers need no alignment, not even that of an element.
//  * A destination may be exactly one of the sources (in place). Otherwise, no destination overlaps a source or another
//    destination.
//  * Every instruction set computes the same bits, whatever the alignment and the number of sources and destinations.
//  * Integers wrap. Floats of 16 and 8 bits are accumulated in float32 over all sources of one call and rounded once,
//    to nearest even. Infinities, subnormals and NaNs are kept (a NaN becomes quiet and keeps its upper payload bits),
//    except that 8-bit floats saturate: an infinite or too large value becomes the largest number (see base/float8.h).
//  * If several sources of a sum or product are NaN, the result has the payload of the first one.
//  * MIN and MAX: a NaN in any source yields NaN (the first one's bits). Between equal values, also between zeros of
//    different sign, the later source's bits win.
//  * AVG is SUM followed by one division by post.divisor. Floats of 16 and 8 bits are divided in float32, before the
//    rounding; integers are divided after the sum has wrapped, and truncated towards zero. The other operations ignore
//    post. The AVG kernel with divisor 1 is the SUM kernel, so intermediate steps may use either.
//  * AND, OR and XOR work on integers only.
//  * One source with nothing to divide is copied byte by byte.
//  * Bit i of streamingMask asks to write destination i with non-temporal stores, which do not fill the caches. The
//    kernel honours this hint for the aligned middle of large destinations, and fences before it returns.
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

// Returns true if this processor and operating system can run the kernels of `isa`.
bool isaSupported(Isa isa) noexcept;

// Returns the widest supported instruction set.
Isa bestIsa() noexcept;

// Returns the kernel of a type and an operation; null if either is no member of its enumeration, or if the operation
// does not work on the type.
ReduceCopyFn reduceCopyKernel(DataType type, ReduceOp op) noexcept;
ReduceCopyFn reduceCopyKernel(DataType type, ReduceOp op, Isa isa) noexcept;

}  // namespace jccl
