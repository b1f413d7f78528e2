// Asks the kernel what is mapped at an address of this process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"

namespace jccl {

// Knows a mapping of a file again: after munmap, which free() is for large allocations, another one may have its addresses.
// For the process that made it, not for a child that it forks.
class MappingCheck {
 public:
  MappingCheck() = default;
  // `fd`: the file that [address, address + bytes) is mapped from, one part after the other from `offset` on.
  MappingCheck(int fd, off_t offset, const void* address, size_t bytes);

  // Whether all of these addresses still show that file. Takes a microsecond on Linux 6.11 and later, some more elsewhere: there
  // another file that is mapped at exactly these addresses counts, too.
  bool isMapped() const;
  // The same without that exception, on older kernels from the list of all mappings; Unknown where that cannot be read.
  enum class Answer : uint8_t { Yes, No, Unknown };
  Answer lookUp() const;

 private:
  struct Part;
  Answer query() const;
  Answer isListed() const;
  bool continues(const Part& part, uintptr_t at) const;

  uintptr_t begin_ = 0;
  uintptr_t end_ = 0;
  uint64_t offset_ = 0;
  uint64_t inode_ = 0;
  uint64_t deviceMajor_ = 0;
  uint64_t deviceMinor_ = 0;
  std::shared_ptr<const UniqueFd> maps_;
};

}  // namespace jccl
