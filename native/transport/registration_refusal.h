// Why ordinary memory is not registered, and the remedy: all texts in one place.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace jccl::refusal {

// Below, an operation gains less than registering costs in any program.
inline constexpr size_t kMinBytes = size_t{1} << 20;

Status tooSmall(const void* address, size_t bytes);
// All or a part of it is memory of a HostBuffer, or registered.
Status registeredAlready(const void* address, size_t bytes);
// It shares its pages with other memory, is a part of an allocation, or came from another allocator than glibc's.
Status notAlone(const void* address, size_t bytes);
// It may not be written, is shared with other processes, or is a file's.
Status notPrivate(const void* address, size_t bytes);
// Nobody could say whether it has been freed.
Status unknownMapping(const void* address, size_t bytes);

}  // namespace jccl::refusal
