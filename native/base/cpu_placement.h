// Publishes the core on which a rank runs to the other ranks of its host.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace jccl {

// One cache line of a rank's segment. Only the rank writes it, and only when the core changes.
struct alignas(64) CpuPlacement {
  static constexpr int32_t kUnknown = 0;

  std::atomic<int32_t> core;  // core on which the rank last ran, counted from 1

  // Stores and returns the core of the calling thread, which must be the one that executes the rank's operations.
  int32_t publish() {
    const int32_t here = sched_getcpu() + 1;
    if (core.load(std::memory_order_relaxed) != here) core.store(here, std::memory_order_relaxed);
    return here;
  }
};
static_assert(sizeof(CpuPlacement) == 64);

}  // namespace jccl
