// Access to global memory from device code. No other code dereferences pointers to global memory, only pointers to
// locals and shared memory. So every property on which the protocols rely is named here, and the emulator of the tests
// can vary everything else. Order and atomicity hold among all threads of the system, including other GPUs and the
// host.
//
// Functions in namespace jccl::simt; T is uint64_t or uint32_t, aligned:
//
//   T loadRelaxed(const T*)             reads a whole value; later loads of the same place read no older one
//   T loadAcquire(const T*)             the same; then this thread sees everything visible when the value was released
//   void storeRelaxed(T*, T)            becomes visible at some time; ordered only with stores to the same place
//   void storeRelease(T*, T)            becomes visible after everything that this thread wrote or observed, for
//                                       example through a barrier of the block
//   void storeFirst(uint32_t*, uint32_t)
//                                       storeRelease if the place contains 0; of all threads of the device that call
//                                       it, one stores; not atomic with stores of other devices or of the host
//   uint32_t addOrdered(uint32_t*, uint32_t)
//                                       adds to the place and returns its previous value: a release of what this thread
//                                       wrote or observed, and an acquire of what earlier callers released; atomic
//                                       among the threads of the device
//   void fence()                        orders the accesses before it and after it: a relaxed store after it becomes a
//                                       release, a relaxed load before it an acquire; but a store before it may become
//                                       visible after a load that follows it
//
//   struct Vec16 { uint64_t low, high; }
//   Vec16 loadCells(const void*)        two LL cells with one 16-byte access; each cell is whole, but not the pair
//   void storeCells(void*, Vec16)       the same
//   void storeCell(uint64_t*, uint64_t) one LL cell, whole
//
//   Vec16 loadLine(const void*, unsigned mask)
//   void storeLine(void*, Vec16, unsigned mask)
//     LL128: one instruction of all lanes in the mask, 16 bytes each; eight adjacent lanes access a line of 128 bytes.
//     Lines stay whole (on GPUs that allow LL128) if the lanes are CONVERGED: they met in a warp function of simt.h
//     with a mask that includes this one, and have since called the same functions of these two headers in the same
//     places. Otherwise call syncWarp right before, or lines can become visible in parts.
//
//   Word<Bytes> loadPeer<Bytes>(const void*)    slots and buffers that others write or read while the kernel runs:
//   void storePeer<Bytes>(void*, Word<Bytes>)   bypass L1, unordered; 1, 2, 4, 8 or 16 bytes, aligned (16: two halves)
//   Word<Bytes> loadUser<Bytes>(const void*)    buffers that only this rank uses while the kernel runs; the same sizes
//   void storeUser<Bytes>(void*, Word<Bytes>)
//
// Word<Bytes> is uint8_t, uint16_t, uint32_t, uint64_t or Vec16.
#pragma once

#include <cstdint>

namespace jccl::simt {

struct alignas(16) Vec16 {
  uint64_t low;
  uint64_t high;
};

template <unsigned Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = uint8_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint64_t;
};
template <>
struct WordOf<16> {
  using Type = Vec16;
};
template <unsigned Bytes>
using Word = typename WordOf<Bytes>::Type;

}  // namespace jccl::simt

#if defined(__CUDACC__)
#include "cuda/device/memory_cuda.h"
#else
#include <memory_emulated.h>
#endif
