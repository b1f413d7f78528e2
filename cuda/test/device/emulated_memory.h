// Memory of emulated GPUs that processes can share. JCCL_EMULATED_SHARING in the environment
// lists what can be shared, "descriptors" and "handles", and what is refused: "no-export", "no-import" and "no-open".
// Nothing, where it is not set.
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
