// Waking a rank that naps, across processes, without cost while it does not.
#pragma once

#include <atomic>
#include <cstdint>

namespace jccl {

// One line in a rank's segment. A waiter raises `sleeping`, looks at its condition again and naps on `rings`; one that is
// about to nap often leaves `sleeping` raised meanwhile. A publisher
// looks at `sleeping` after publishing (a plain load of a line that stays in its cache) and rings only when it is set.
// The publisher has no fence; the waiter asks the kernel to issue one in all processes (membarrier) before it naps. Where
// that is not to be had a ring can be missed: naps are timed, so a miss costs one nap.
struct alignas(64) Doorbell {
  std::atomic<uint32_t> sleeping;  // how many threads of the rank nap, are about to or listen
  std::atomic<uint32_t> rings;     // the futex word

  void ringIfSleeping() {
    if (__builtin_expect(sleeping.load(std::memory_order_relaxed) != 0, 0)) ring();
  }

  // Once per process, before the first operation: lets sleepers of other processes fence this one's publishers.
  static void registerPublisher();

  // Wakes all threads that nap.
  void ring();

  // From now on every publisher rings, whether the listener naps or not: its naps need no fence.
  void listen();
  void endListening();

  // Naps until rung or `nanos` passed, unless `ready(context)` holds.
  void nap(int64_t nanos, bool (*ready)(void* context), void* context);
  // The same, of a thread that listens.
  void napListening(int64_t nanos, bool (*ready)(void* context), void* context);
};

static_assert(sizeof(Doorbell) == 64);

}  // namespace jccl
