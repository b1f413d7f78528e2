// Time that only goes forward.
#pragma once

#include <cstdint>
#include <ctime>

namespace jccl {

inline int64_t monotonicNanos() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// To some milliseconds, for a tenth of the cost.
inline int64_t coarseMonotonicNanos() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace jccl
