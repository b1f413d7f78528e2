// Requests a shared memory descriptor from another process.
#pragma once

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm_process.h"

namespace jccl {

// Fetches the descriptor of a segment from the process behind `peer`. Bounded: a peer that does not answer within 5 s
// is an error. The answering process must belong to the peer's user; it sees the token only then.
Status fetchShmDescriptor(const ShmProcess& peer, uint64_t segment, UniqueFd* fd);

// False once the process behind `peer` has ended, or shares memory no more: no thread of it touches memory then. A process
// that is stopped runs in this sense. Does not block.
bool isRunning(const ShmProcess& peer);

}  // namespace jccl
