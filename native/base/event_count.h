// Wakes a sleeping rank from another process, at almost no cost while the rank does not sleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace jccl {

// One cache line of a rank's segment. A waiter raises `waiters`, checks its condition again and sleeps on
// `notifications`. A thread that is about to sleep often keeps `waiters` raised in between. A publisher reads `waiters`
// after it publishes (a plain load of a line that stays in its cache) and notifies only if it is not 0.
//
// Publishers have no fence: before a waiter sleeps, it asks the kernel to issue one in all processes (membarrier(2)).
// If the kernel refuses, a waiter can miss a notification. Sleeps are timed, so a miss costs one sleep.
struct alignas(64) EventCount {
  std::atomic<uint32_t> waiters;        // number of the rank's threads that sleep, are about to, or stay registered
  std::atomic<uint32_t> notifications;  // the futex word

  void notifyIfWaiting() {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler must not move the load above the publication
    if (__builtin_expect(waiters.load(std::memory_order_relaxed) != 0, 0)) notify();
  }

  // Registers this process with membarrier(2), so that waiters of other processes can fence its publishers. Must be
  // called before the process's first operation; further calls do no harm.
  static void registerPublisher();

  // Wakes all threads that sleep on this object.
  void notify();

  // Registers the calling thread: until removeWaiter(), every publisher notifies, even while the thread is awake, and
  // the thread's sleeps need no fence.
  void addWaiter();
  void removeWaiter();

  // Sleeps until a notification or for `nanos`. Returns at once if ready(context) is true.
  void sleep(int64_t nanos, bool (*ready)(void* context), void* context);
  // Like sleep(), for a thread that has called addWaiter().
  void sleepAsWaiter(int64_t nanos, bool (*ready)(void* context), void* context);
};

static_assert(sizeof(EventCount) == 64);

}  // namespace jccl
