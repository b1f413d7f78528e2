// Asks the kernel what is mapped at an address of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"

namespace jccl {

// Knows a mapping of a file again: after munmap, which free() is for large allocations, another one may have its addresses.
// Takes a microsecond on Linux 6.11 and later, some more elsewhere. For the process that made it, not for
// a child that it forks.
class MappingCheck {
 public:
  MappingCheck() = default;
  // `fd`: the file that [address, address + bytes) is mapped from.
  MappingCheck(int fd, const void* address, size_t bytes);

  // Whether all of these addresses still show that file, in one mapping.
  bool isMapped() const;

 private:
  uintptr_t begin_ = 0;
  uintptr_t end_ = 0;
  uint64_t inode_ = 0;
  uint64_t deviceMajor_ = 0;
  uint64_t deviceMinor_ = 0;
  std::shared_ptr<const UniqueFd> maps_;
};

}  // namespace jccl
