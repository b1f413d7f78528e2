// Small kernels of the benchmarks: launches with arguments of several sizes, and a write of a word of host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/kernels/registry.h"

namespace jccl::bench {

template <size_t N>
struct Arguments {
  uint32_t* word;  // null, or a word of pinned memory that the kernel sets to `value`
  uint32_t value;
  uint32_t pad;
  unsigned char rest[N - 16];
};
static_assert(sizeof(Arguments<64>) == 64);

// The sizes: little; about that of JCCL's descriptors; the most that every driver passes.
using Small = Arguments<64>;
using Middle = Arguments<2432>;
using Large = Arguments<4096>;

// Returns the kernel whose only argument is an Arguments of 64, 2432 or 4096 bytes.
const device::KernelEntry& benchKernel(size_t bytes);

}  // namespace jccl::bench
