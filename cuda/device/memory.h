// Global memory as the device code reads and writes it. No other code dereferences a pointer to global memory, only
// pointers to locals and shared memory. So all that the protocols rely on is named here, and the emulator of the tests
// can vary everything that is not guaranteed. Orders and atomicity hold between all threads of the system: other GPUs,
// the host.
//
// In namespace jccl::simt; T is uint64_t or uint32_t, aligned:
//
//   T loadRelaxed(const T*)             sees some value, whole; later loads of the place see no older one
//   T loadAcquire(const T*)             as well, and what was visible when that value was released is seen from here on
//   void storeRelaxed(T*, T)            becomes visible at some time, in order only with stores to the same place
//   void storeRelease(T*, T)            becomes visible after all that this thread wrote, and after all that it has
//                                       observed, through a barrier of the block among others
//   void storeFirst(uint32_t*, uint32_t)
//                                       storeRelease where the place holds 0: of all threads of the device that do this, one
//                                       stores; not atomic with what other devices or the host store there
//   void fence()                        orders what is before it and what is after it: with a relaxed store after it a
//                                       release, with a relaxed load before it an acquire; but a store before it may
//                                       become visible after a load that follows it
//
//   struct Vec16 { uint64_t low, high; }
//   Vec16 loadCells(const void*)        two LL cells with one 16-byte access: each of the cells whole, but not the pair
//   void storeCells(void*, Vec16)       the same
//   void storeCell(uint64_t*, uint64_t) one LL cell, whole
//
//   Vec16 loadLine(const void*, unsigned mask)
//   void storeLine(void*, Vec16, unsigned mask)
//     LL128: one instruction of all lanes that the mask names, 16 bytes each; eight adjacent lanes make a line of
//     128 bytes. If the lanes are CONVERGED, lines stay whole (where LL128 is allowed at all): they met in a warp
//     function of simt.h with a mask that covers this one, and since then all have called the same functions of these
//     two headers in the same places. Anything else needs a syncWarp right before; otherwise lines come apart.
//
//   Word<Bytes> loadPeer<Bytes>(const void*)    slots and buffers that others write or read while the kernel runs: past
//   void storePeer<Bytes>(void*, Word<Bytes>)   L1, unordered; 1, 2, 4, 8 or 16 bytes, aligned (16: two halves)
//   Word<Bytes> loadUser<Bytes>(const void*)    buffers that are this rank's alone while the kernel runs; the same
//   void storeUser<Bytes>(void*, Word<Bytes>)   widths
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
