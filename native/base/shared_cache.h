// The cache that cores share, as the kernel reports it.
#pragma once

#include <cstddef>

namespace jccl {

struct SharedCache {
  size_t bytes;
  int cores;  // that share it
};

// The last cache before memory of the processor's first core; 32 MiB for one core where the kernel does not say. sysconf
// is no substitute: it adds up the caches of a whole processor, which are many on AMD's.
SharedCache sharedCache();

// The same from another directory with index0, index1, ... as in /sys/devices/system/cpu/cpu0/cache.
SharedCache sharedCacheIn(const char* directory);

}  // namespace jccl
