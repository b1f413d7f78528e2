#include "base/event_count.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/futex.h"

namespace jccl {
namespace {

// Issues the fence that publishers leave out. After this call, every publisher of a registered process sees `waiters`,
// or the caller sees what that publisher has published. If the kernel refuses, timed sleeps are the fallback.
void fenceAllPublishers() {
  static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  if (registered) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace

void EventCount::registerPublisher() { fenceAllPublishers(); }

void EventCount::notify() {
  notifications.fetch_add(1, std::memory_order_release);
  futexWake(notifications, kFutexAll, FutexScope::Shared);
}

void EventCount::addWaiter() {
  waiters.fetch_add(1, std::memory_order_seq_cst);
  fenceAllPublishers();
}

void EventCount::removeWaiter() { waiters.fetch_sub(1, std::memory_order_relaxed); }

void EventCount::sleep(int64_t nanos, bool (*ready)(void* context), void* context) {
  addWaiter();
  sleepAsWaiter(nanos, ready, context);
  removeWaiter();
}

void EventCount::sleepAsWaiter(int64_t nanos, bool (*ready)(void* context), void* context) {
  // The number of notifications is read before ready() is called: ready() sees everything published earlier, and a
  // later publication changes the number, so that the futex does not sleep.
  const uint32_t seen = notifications.load(std::memory_order_acquire);
  if (ready(context)) return;
  futexWaitFor(notifications, seen, nanos, FutexScope::Shared);
}

}  // namespace jccl
