// Asks the kernel what is mapped at an address of this process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"

namespace jccl {

// Tells whether the mapping of a file is still at its addresses. After munmap, which free() calls for large
// allocations, another mapping may have these addresses. Works in the process that made this object, not in a child
// that it forks.
class MappingCheck {
 public:
  MappingCheck() = default;
  // `fd`: the file that [address, address + bytes) is mapped from, contiguously from `offset` on.
  MappingCheck(int fd, off_t offset, const void* address, size_t bytes);

  // Returns true if the file is still mapped at all of these addresses. Takes a microsecond on Linux 6.11 and later.
  // Older kernels take somewhat longer, and also accept another file that is mapped at exactly these addresses.
  bool isMapped() const;
  // Like isMapped(), but does not accept another file: on older kernels it reads the list of all mappings. Unknown: the
  // list cannot be read.
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
