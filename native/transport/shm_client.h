// Requests descriptors of shared memory from other processes.
#pragma once

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm_process.h"

namespace jccl {

// Fetches the descriptor of a segment from the process behind `peer`. Fails if there is no answer within 5 s. The token
// is sent only to a process of the peer's user.
Status fetchShmDescriptor(const ShmProcess& peer, uint64_t segment, UniqueFd* fd);

// Returns false once the process behind `peer` has ended or no longer shares memory. After that none of its threads
// accesses shared memory. A stopped process counts as running. Does not block.
bool isRunning(const ShmProcess& peer);

}  // namespace jccl
