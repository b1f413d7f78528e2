// Buffers of the user that other processes of this machine can read and write in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "transport/shm_registry.h"

namespace jccl {

// One per process. A buffer is a segment of its own in the process's registry, where communicators find it by address.
// Thread-safe.
class SharedHeap {
 public:
  static SharedHeap& ofThisProcess();

  // Zeroed, page-aligned memory; at least one page.
  Status allocate(size_t bytes, void*& memory);
  Status free(void* memory);

 private:
  std::mutex mutex_;
  std::shared_ptr<ShmRegistry> registry_;  // held while there are buffers, so that their ids stay known
  std::map<void*, uint64_t> ids_;
};

}  // namespace jccl
