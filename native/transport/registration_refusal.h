// All error texts for ordinary memory that is not registered: reasons and remedies.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace jccl::refusal {

// The smallest memory that is registered. For smaller memory, registration costs more than an operation gains by it, in
// any program.
inline constexpr size_t kMinBytes = size_t{1} << 20;

Status tooSmall(const void* address, size_t bytes);
// Refuses memory that belongs to a HostBuffer or is registered, completely or in part.
Status registeredAlready(const void* address, size_t bytes);
// Refuses memory that shares its pages with other memory, is a part of an allocation, or came from an allocator other
// than glibc's.
Status notAlone(const void* address, size_t bytes);
// Refuses memory that is not writable, is shared with other processes, or belongs to a file.
Status notPrivate(const void* address, size_t bytes);
// Refuses memory for which JCCL could not find out whether it has been freed.
Status unknownMapping(const void* address, size_t bytes);

}  // namespace jccl::refusal
