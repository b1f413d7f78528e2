// Helpers of benchmarks that fork processes.
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/core_sharing.h"

namespace jccl {

// Returns zeroed memory that processes forked later share at the same address. Ends the program if there is none.
inline uint8_t* sharedMemory(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return static_cast<uint8_t*>(memory);
}

// Binds process `rank` of `size` to its own core if there is a core for each process.
inline void bindToOwnCore(int rank, int size) {
  const std::vector<int32_t> cores = allowedCores();
  if (size > static_cast<int>(cores.size())) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cores[rank] - 1, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

}  // namespace jccl
