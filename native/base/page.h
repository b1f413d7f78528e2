// The size of a memory page, which differs between ARM systems: 4, 16 or 64 KiB.
#pragma once

#include <unistd.h>

#include <cstddef>

namespace jccl {

inline constexpr size_t kMinPageBytes = 4096;

inline size_t pageBytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Returns the size of the huge page that replaces a whole page table; 0 if the kernel has none.
size_t hugePageBytes();

}  // namespace jccl
