// Waking a rank that sleeps, across processes, without cost while it does not.
#pragma once

#include <atomic>
#include <cstdint>

namespace jccl {

// One line in a rank's segment. A waiter raises `waiters`, checks its condition again and sleeps on `notifications`; one
// that is about to sleep often leaves `waiters` raised meanwhile. A publisher reads `waiters` after publishing (a plain load
// of a line that stays in its cache) and notifies only when it is set.
// The publisher has no fence; the waiter asks the kernel to issue one in all processes (membarrier) before it sleeps. Where
// the kernel refuses, a notification can be missed: sleeps are timed, so a miss costs one sleep.
struct alignas(64) EventCount {
  std::atomic<uint32_t> waiters;        // how many threads of the rank sleep, are about to or stay registered
  std::atomic<uint32_t> notifications;  // the futex word

  void notifyIfWaiting() {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // what was published stays in front of the load
    if (__builtin_expect(waiters.load(std::memory_order_relaxed) != 0, 0)) notify();
  }

  // Once per process, before the first operation: lets sleepers of other processes fence this one's publishers.
  static void registerPublisher();

  // Wakes all threads that sleep.
  void notify();

  // From now on every publisher notifies, whether the waiter sleeps or not: its sleeps need no fence.
  void addWaiter();
  void removeWaiter();

  // Sleeps until notified or `nanos` passed, unless `ready(context)` holds.
  void sleep(int64_t nanos, bool (*ready)(void* context), void* context);
  // The same, of a thread that has called addWaiter().
  void sleepAsWaiter(int64_t nanos, bool (*ready)(void* context), void* context);
};

static_assert(sizeof(EventCount) == 64);

}  // namespace jccl
