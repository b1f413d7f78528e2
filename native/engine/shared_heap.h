// Buffers of the user that other processes of this host can read and write in place.
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
  // Gives the pages back at once and shares them no more. The addresses stay readable and writable until free.
  Status retire(void* memory);
  // Gives back the pages and the addresses.
  Status free(void* memory);

 private:
  struct Buffer {
    std::shared_ptr<ShmSegment> segment;
    uint64_t id = 0;  // in the registry; 0 after retire
  };

  void withdraw(Buffer& buffer, bool keepsAddresses);
  Status find(void* memory, std::map<void*, Buffer>::iterator& found);

  std::mutex mutex_;
  std::shared_ptr<ShmRegistry> registry_;  // held while there are buffers, so that their ids stay known
  std::map<void*, Buffer> buffers_;
};

}  // namespace jccl
