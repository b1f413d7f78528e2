#include "base/doorbell.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/futex.h"

namespace jccl {
namespace {

// The kernel issues the fence that publishers leave out: after this call every publisher of a process that registered
// either sees `sleeping`, or its publication is visible here. Where the kernel refuses, naps being timed is the fallback.
void fenceAllPublishers() {
  static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  if (registered) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace

void Doorbell::registerPublisher() { fenceAllPublishers(); }

void Doorbell::ring() {
  rings.fetch_add(1, std::memory_order_release);
  futexWake(rings, kFutexAll, FutexScope::Shared);
}

void Doorbell::listen() {
  sleeping.fetch_add(1, std::memory_order_seq_cst);
  fenceAllPublishers();
}

void Doorbell::endListening() { sleeping.fetch_sub(1, std::memory_order_relaxed); }

void Doorbell::nap(int64_t nanos, bool (*ready)(void* context), void* context) {
  listen();
  napListening(nanos, ready, context);
  endListening();
}

void Doorbell::napListening(int64_t nanos, bool (*ready)(void* context), void* context) {
  // Whatever was published before this number of rings, ready() sees; whatever comes after it changes the number.
  const uint32_t seen = rings.load(std::memory_order_acquire);
  if (ready(context)) return;
  futexWaitFor(rings, seen, nanos, FutexScope::Shared);
}

}  // namespace jccl
