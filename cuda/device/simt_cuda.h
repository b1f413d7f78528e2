// Implements simt.h on a GPU of compute capability 7.0 or newer.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#define JCCL_DEVICE __device__ __forceinline__
#define JCCL_SHARED(T, name) __shared__ ::jccl::simt::SharedType<T> name

namespace jccl::simt {

// Lets JCCL_SHARED declare a variable of an array type with the type before the name, as in `T name`.
template <class T>
struct SharedVariable {
  static_assert(std::is_trivial<T>::value, "shared memory is not initialised: the type must be trivial");
  using Type = T;
};
template <class T>
using SharedType = typename SharedVariable<T>::Type;

constexpr unsigned kWarpThreads = 32;
constexpr unsigned kFullMask = ~0u;

JCCL_DEVICE unsigned threadIndex() { return threadIdx.x; }
JCCL_DEVICE unsigned blockThreads() { return blockDim.x; }
JCCL_DEVICE unsigned blockIndex() { return blockIdx.x; }
JCCL_DEVICE unsigned blockCount() { return gridDim.x; }
JCCL_DEVICE unsigned laneIndex() { return threadIdx.x % kWarpThreads; }

JCCL_DEVICE void syncBlock() { __syncthreads(); }

// Uses the unaligned form, because lanes of a warp may arrive one by one.
JCCL_DEVICE void syncThreads(int barrier, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

JCCL_DEVICE bool syncOr(int barrier, int threads, bool value) {
  int result;
  asm volatile(
      "{\n\t"
      ".reg .pred said, found;\n\t"
      "setp.ne.s32 said, %1, 0;\n\t"
      "barrier.red.or.pred found, %2, %3, said;\n\t"
      "selp.s32 %0, 1, 0, found;\n\t"
      "}"
      : "=r"(result)
      : "r"(static_cast<int>(value)), "r"(barrier), "r"(threads)
      : "memory");
  return result != 0;
}

JCCL_DEVICE void syncWarp(unsigned mask = kFullMask) { __syncwarp(mask); }
JCCL_DEVICE bool any(unsigned mask, bool value) { return __any_sync(mask, value) != 0; }
JCCL_DEVICE bool all(unsigned mask, bool value) { return __all_sync(mask, value) != 0; }

template <class T>
JCCL_DEVICE T shuffle(unsigned mask, T value, int lane) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  static_assert(std::is_trivially_copyable<T>::value, "shuffles move plain values");
  using Bits = typename std::conditional<sizeof(T) == 4, unsigned, unsigned long long>::type;
  Bits bits;
  memcpy(&bits, &value, sizeof(T));
  bits = __shfl_sync(mask, bits, lane);
  memcpy(&value, &bits, sizeof(T));
  return value;
}

JCCL_DEVICE uint64_t swapShared(uint64_t* p, uint64_t expected, uint64_t next) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(expected),
                   static_cast<unsigned long long>(next));
}
// These accesses are atomic: compute-sanitizer would report plain ones as races.
JCCL_DEVICE uint64_t loadShared(const uint64_t* p) { return swapShared(const_cast<uint64_t*>(p), 0, 0); }
JCCL_DEVICE void storeShared(uint64_t* p, uint64_t value) {
  (void)atomicExch(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(value));
}

JCCL_DEVICE uint64_t nanos() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

// A compiler barrier only, so that loads stay in waiting loops. The warp does not sleep: its polling costs other warps
// little, and a sleep would add latency.
JCCL_DEVICE void pause() { asm volatile("" ::: "memory"); }

}  // namespace jccl::simt
