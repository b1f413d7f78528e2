// The threads of a kernel: their indexes, barriers and waiting. Only memory.h, convert.h, multicast.h and this header
// touch hardware. All other code in cuda/ that runs on the device is plain C++17 on top of these headers; it runs on a
// GPU and in the emulator of the tests (cuda/test/emulator).
//
// An implementation (simt_cuda.h on a GPU) provides, in namespace jccl::simt:
//
//   kWarpThreads, kFullMask
//   unsigned threadIndex()      of this thread in its block
//   unsigned blockThreads()     threads of a block
//   unsigned blockIndex()       of this block in its grid
//   unsigned blockCount()       blocks of the grid
//   unsigned laneIndex()        of this thread in its warp
//
//   void syncBlock()                               all threads of the block meet: barrier 0, __syncthreads
//   void syncThreads(int barrier, int threads)     `threads` threads, whole warps, meet at a named barrier, 1 to 15
//   bool syncOr(int barrier, int threads, bool)    the same with a vote: returns true if any thread passed true
//     After one of these, all threads that met see what each of them wrote before. If one of them then does a release
//     or a fence, it covers what all of them wrote.
//
//   void syncWarp(unsigned mask)                   the lanes in the mask meet; orders memory among them
//   bool any(unsigned mask, bool)                  votes; votes and shuffles do not order memory
//   bool all(unsigned mask, bool)
//   T shuffle(unsigned mask, T value, int lane)    returns the value of that lane; T: 4 or 8 bytes, trivially copyable
//     Every lane in the mask calls the same function with the same mask, which includes the lane itself. kFullMask
//     includes only lanes that the block has. Lanes that met here are converged until their paths differ: see storeLine
//     in memory.h.
//
//   uint64_t loadShared(const uint64_t*)           access a word of the block's shared memory that several threads use
//   void storeShared(uint64_t*, uint64_t)          without a barrier; order nothing
//   uint64_t swapShared(uint64_t*, uint64_t expected, uint64_t next)     atomically stores `next` if the word is
//                                                  `expected`; returns the word's previous value
//
//   uint64_t nanos()            a clock; in the emulator time passes with the work of the threads
//   void pause()                called in every iteration of a waiting loop; the emulator lets other threads run here
//
// and the macros
//
//   JCCL_DEVICE                 marks a function that runs on the device, where it is inlined
//   JCCL_SHARED(T, name)        declares an uninitialised variable in the block's shared memory; T is trivial, and may
//                               be an array type. One variable per block and place in the source, as with __shared__.
#pragma once

#if defined(__CUDACC__)
#include "cuda/device/simt_cuda.h"
#else
#include <simt_emulated.h>
#endif
