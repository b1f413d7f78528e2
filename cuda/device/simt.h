// The threads of a kernel: who they are, where they meet, how they wait. With memory.h and convert.h the only place of the
// device code that touches hardware: everything else in cuda/ that runs on the device is plain C++17 on top of these
// headers, and runs on a GPU as well as in the emulator of the tests (cuda/test/emulator).
//
// The implementation (simt_cuda.h on a GPU) gives, in namespace jccl::simt:
//
//   kWarpThreads, kFullMask
//   unsigned threadIndex()      of this thread in its block
//   unsigned blockThreads()     threads of a block
//   unsigned blockIndex()       of this block in its grid
//   unsigned laneIndex()        of this thread in its warp
//
//   void syncBlock()                               all threads of the block meet: barrier 0, __syncthreads
//   void syncThreads(int barrier, int threads)     so many threads meet at a named barrier, 1 to 15; whole warps only
//   bool syncOr(int barrier, int threads, bool)    the same with a vote: whether any of them said true
//     What a thread of the block wrote before one of these is seen by all that met, after it; a release or fence that
//     one of them does later covers what all of them wrote.
//
//   void syncWarp(unsigned mask)                   the lanes named by the mask meet, orders memory among them
//   bool any(unsigned mask, bool)                  votes; these and shuffles order no memory
//   bool all(unsigned mask, bool)
//   T shuffle(unsigned mask, T value, int lane)    the value of that lane; T of 4 or 8 bytes, trivially copyable
//     Every lane named by the mask calls the same function with the same mask, itself included; kFullMask names only
//     those that the block has. Lanes that met here are converged until their paths differ: see storeLine in memory.h.
//
//   uint64_t loadShared(const uint64_t*)           a word of the block's shared memory that its threads access without a
//   void storeShared(uint64_t*, uint64_t)          barrier between; orders nothing
//   uint64_t swapShared(uint64_t*, uint64_t expected, uint64_t next)     at once: what it was; next if that was expected
//
//   uint64_t nanos()            a clock; in the emulator time passes as threads do things
//   void pause()                in every iteration of every loop that waits; the emulator lets other threads run here
//
// and the macros
//
//   JCCL_DEVICE                 before every function that runs on the device: inlined there
//   JCCL_SHARED(T, name)        declares a variable in the block's shared memory, not initialised; T is trivial, may be
//                               an array type. One variable per block and place in the source, as with __shared__.
#pragma once

#if defined(__CUDACC__)
#include "cuda/device/simt_cuda.h"
#else
#include <simt_emulated.h>
#endif
