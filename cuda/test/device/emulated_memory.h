// Memory of emulated GPUs that processes can share. What can be shared, and what is refused, the environment
// says in JCCL_EMULATED_SHARING, by words: "descriptors" and "handles" are there, and "no-export", "no-import" and "no-open" are
// refused. Nothing, where it is not set.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "cuda/runtime/device_api.h"

namespace jccl::emulator {

// Its descriptors and mappings have this name in /proc, so that tests can count what is left.
constexpr const char* kEmulatedMemoryName = "jccl-emulated-gpu";

bool sharingHas(const char* word);

// Memory behind a descriptor of its own; not initialised memory shows by its bytes.
Status allocateShared(size_t bytes, void*& memory);
// False for memory that allocateShared() has not made.
bool releaseShared(void* memory);
// Legacy handles: the process and the number of the descriptor.
Status exportShared(void* memory, device::MemoryHandle& handle);
Status openShared(const device::MemoryHandle& handle, void*& memory);
Status closeShared(void* memory);

}  // namespace jccl::emulator
