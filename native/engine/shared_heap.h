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

  // Registers the memory of an ordinary allocation: from then on peers use it in place, as what allocate returns. Refuses what
  // shares its pages with other allocations, and what overlaps with memory that is shared already, with the remedy. Nobody
  // may write to it meanwhile. `id` names the registration.
  Status adopt(const void* address, size_t bytes, uint64_t& id);
  // Ends a registration: the allocation has private pages again, with its bytes. Peers and other threads do not use it meanwhile.
  // If its owner has freed it, its addresses are left alone; `freed` says so.
  Status giveBack(uint64_t id, bool& freed);

 private:
  struct Buffer {
    std::shared_ptr<ShmSegment> segment;
    uint64_t id = 0;  // in the registry; 0 after retire
  };

  Status start();
  void stopUnlessUsed();
  Status adoptUnlocked(const void* address, size_t bytes, uint64_t& id);
  void withdraw(Buffer& buffer, bool keepsAddresses);
  Status find(void* memory, std::map<void*, Buffer>::iterator& found);

  std::mutex mutex_;
  std::shared_ptr<ShmRegistry> registry_;  // held while there are buffers, so that their ids stay known
  std::map<void*, Buffer> buffers_;
  std::map<uint64_t, std::shared_ptr<AdoptedMemory>> adopted_;
};

}  // namespace jccl
