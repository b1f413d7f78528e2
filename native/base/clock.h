// Time that never goes back: CLOCK_MONOTONIC in nanoseconds.
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

// Time of the last tick, 0 before the first. Reading it costs one load. Java's watchdog thread sets it some 20 times a
// second.
inline std::atomic<int64_t> tickNanos{0};

inline void setTick() { tickNanos.store(monotonicNanos(), std::memory_order_relaxed); }

}  // namespace jccl
