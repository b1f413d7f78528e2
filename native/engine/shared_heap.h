// Memory of the application that other processes of this host can read and write in place: host buffers, and ordinary
// allocations that have been registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "transport/shm_registry.h"

namespace jccl {

// The one shared heap of a process. Each buffer is a separate segment in the process's registry, where communicators
// find it by address. Thread-safe.
class SharedHeap {
 public:
  static SharedHeap& ofThisProcess();

  // Allocates zeroed, page-aligned memory of at least one page.
  Status allocate(size_t bytes, void*& memory);
  // Frees the pages at once and stops sharing the buffer. The addresses stay readable and writable until free().
  Status retire(void* memory);
  // Frees the pages and the addresses.
  Status free(void* memory);

  // Registers the memory of an ordinary allocation, so that peers use it in place like a buffer of allocate(). Refuses
  // memory that shares its pages with other allocations or overlaps with shared memory; the error names the remedy. No
  // thread may write to the memory during the call. `id` names the registration.
  Status adopt(const void* address, size_t bytes, uint64_t& id);
  // Ends a registration: the allocation gets private pages with the same bytes. Peers and other threads must not use
  // the allocation during the call. If the application has freed the allocation, sets `freed` and does not touch its
  // addresses.
  Status giveBack(uint64_t id, bool& freed);

 private:
  struct Buffer {
    std::shared_ptr<ShmSegment> segment;
    uint64_t id = 0;  // id in the registry; 0 after retire()
  };

  Status start();
  void stopUnlessUsed();
  Status adoptUnlocked(const void* address, size_t bytes, uint64_t& id);
  void withdraw(Buffer& buffer, bool keepsAddresses);
  Status find(void* memory, std::map<void*, Buffer>::iterator& found);

  std::mutex mutex_;
  // kept while there is shared memory, so that the ids of that memory stay known
  std::shared_ptr<ShmRegistry> registry_;
  std::map<void*, Buffer> buffers_;
  std::map<uint64_t, std::shared_ptr<AdoptedMemory>> adopted_;
};

}  // namespace jccl
