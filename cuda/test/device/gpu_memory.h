// Memory of emulated GPUs: one range of the process's addresses, in which each page is accessible to the contexts that may
// access it and to no other. What is freed or unmapped is nobody's, and comes again only when all addresses were used once.
//
// JCCL_EMULATED_SHARING in the environment lists what processes can share, "descriptors" and "handles", and what is refused:
// "no-export", "no-import" and "no-open". Nothing, where it is not set.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "base/fd.h"
#include "base/status.h"

namespace jccl::emulator {

// Descriptors and mappings that processes share have this name in /proc, so that tests can count what is left.
constexpr const char* kEmulatedMemoryName = "jccl-emulated-gpu";
constexpr size_t kGpuPageBytes = size_t{2} << 20;  // what a driver maps at a time

bool sharingHas(const char* word);

class GpuMemory {
 public:
  enum class Kind : uint8_t {
    Allocated,  // its context's, and that of contexts which have enabled access to it
    Pool,       // of cudaMallocAsync: its context's, whatever others have enabled
    Managed,    // of cudaMallocManaged: everybody's
    Opened,     // another process's, by a legacy handle
    Reserved,   // addresses, in which allocations are mapped
  };
  struct Facts {
    uintptr_t begin = 0;
    size_t bytes = 0;
    Kind kind = Kind::Allocated;
    int context = 0;  // the owner's number
    uint16_t users = 0;
    uint64_t id = 0;   // no other range has it
    ino_t number = 0;  // of the descriptor that is mapped there
  };
  struct Range : Facts {
    UniqueFd fd;         // of what processes can share; of Opened with a lock, which its process's driver sees
    bool mapped = true;  // of Reserved: whether it is
    int opened = 1;      // of Opened: how often
  };

  static GpuMemory& ofThisProcess();

  // Not initialised, as its bytes show.
  Status allocate(int context, size_t bytes, Kind kind, void*& memory);
  // Not of memory that another process has opened: that is undefined.
  bool release(void* memory, Kind kind);
  // Contexts that enable access to another's memory.
  bool enablePeer(int context, int peer);

  // Legacy handles: the process and the number of the descriptor. Of whole allocations that were not freed; a context that opens
  // one again gets the same address, and closes it as often.
  Status exportHandle(const void* memory, unsigned char* handle, size_t bytes);
  Status openHandle(int context, const unsigned char* handle, void*& memory);
  bool closeHandle(void* memory);

  // The driver's virtual memory management; an allocation is a descriptor.
  Status create(size_t bytes, int& fd);
  Status reserve(size_t bytes, void*& memory);
  // `context`: the primary one of the allocation's device.
  Status map(void* memory, size_t bytes, int fd, int context);
  // A descriptor of the allocation that is mapped at an address.
  Status retain(const void* memory, int& fd);
  // Nothing is accessible there, until it is unmapped.
  bool mapNothing(void* memory, size_t bytes);
  // The first address of an allocation by its number; null where it is not mapped.
  uint8_t* whereMapped(ino_t number);
  // By whom it is accessed, as bits of contexts.
  Status setUsers(void* memory, size_t bytes, uint16_t users);
  Status unmap(void* memory, size_t bytes);

  bool isAmongItsAddresses(const void* memory) const;
  // Facts of the range that an address lies in; false if it is none.
  bool find(const void* memory, Facts& facts);

 private:
  GpuMemory();
  Status take(size_t bytes, Range range, void*& memory);
  void giveUsers(Range& range, uint16_t users);
  uint16_t usersOf(int context, Kind kind) const;
  std::map<uintptr_t, Range>::iterator rangeOf(const void* memory);

  std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
  std::deque<std::pair<uintptr_t, size_t>> free_;  // oldest first
  uintptr_t next_ = 0;
  uint64_t lastId_ = 0;
  std::array<uint16_t, 16> reaches_{};  // by context: the contexts whose memory it accesses
};

}  // namespace jccl::emulator
