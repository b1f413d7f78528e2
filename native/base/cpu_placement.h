// Where a rank runs, for the ranks that share the host with it.
#pragma once

#include <atomic>
#include <cstdint>

namespace jccl {

// One line in a rank's segment, written by the rank alone and only when it changes.
struct alignas(64) CpuPlacement {
  static constexpr int32_t kUnknown = 0;

  std::atomic<int32_t> core;  // where the rank began its last operation, counted from 1
};
static_assert(sizeof(CpuPlacement) == 64);

}  // namespace jccl
