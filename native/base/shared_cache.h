// The last-level cache that cores share, as the kernel reports it.
#pragma once

#include <cstddef>

namespace jccl {

struct SharedCache {
  size_t bytes;
  int cores;  // number of cores that share the cache
};

// Returns the last-level cache of the processor's first core, or 32 MiB for one core if the kernel does not report it.
// sysconf is no substitute: it adds up all last-level caches of a processor, and AMD's processors have many.
SharedCache sharedCache();

// Reads a directory with index0, index1, ... that has the layout of /sys/devices/system/cpu/cpu0/cache.
SharedCache sharedCacheIn(const char* directory);

}  // namespace jccl
