// Where a rank runs, for the ranks that share the host with it.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace jccl {

// One line in a rank's segment, written by the rank alone and only when it changes.
struct alignas(64) CpuPlacement {
  static constexpr int32_t kUnknown = 0;

  std::atomic<int32_t> core;  // where the rank was seen last, counted from 1

  // By the thread that runs the rank's operations. Returns its core.
  int32_t publish() {
    const int32_t here = sched_getcpu() + 1;
    if (core.load(std::memory_order_relaxed) != here) core.store(here, std::memory_order_relaxed);
    return here;
  }
};
static_assert(sizeof(CpuPlacement) == 64);

}  // namespace jccl
