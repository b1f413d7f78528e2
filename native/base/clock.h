// Time that only goes forward.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace jccl {

inline int64_t monotonicNanos() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The time of the last tick, which a thread of the process sets some 20 times a second: costs what a load costs. 0 before the
// first.
inline std::atomic<int64_t> tickNanos{0};

inline void setTick() { tickNanos.store(monotonicNanos(), std::memory_order_relaxed); }

}  // namespace jccl
