// Memory of emulated GPUs: one range of the process's addresses. For each page, the access map names the contexts that
// may access it. No context may access freed or unmapped pages, and their addresses are reused only after all addresses
// have been used once.
//
// JCCL_EMULATED_SHARING in the environment lists, separated by commas, the ways to share memory between processes
// ("descriptors" and "handles", none by default) and the calls that fail ("no-export", "no-import", "no-open",
// "no-multicast" and "no-bind").
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

// Name in /proc of the descriptors and mappings that processes share, followed by the number of the GPU on the host.
// Tests use the name to count leaked ones.
constexpr const char* kEmulatedMemoryName = "jccl-emulated-gpu";
constexpr const char* kUnsharedMemoryName = "jccl-emulated-own";  // of allocations that cannot be exported
constexpr size_t kGpuPageBytes = size_t{2} << 20;                 // unit in which a driver maps memory

// Returns true if JCCL_EMULATED_SHARING contains the word.
bool sharingHas(const char* word);

class GpuMemory {
 public:
  enum class Kind : uint8_t {
    Allocated,  // accessible to its context and to contexts that have enabled peer access
    Pool,       // from cudaMallocAsync: accessible only to its context, even if others have enabled peer access
    Managed,    // from cudaMallocManaged: accessible to all contexts
    Opened,     // memory of another process, opened by a legacy handle
    Reserved,   // addresses at which allocations are mapped
  };
  struct Facts {
    uintptr_t begin = 0;
    size_t bytes = 0;
    Kind kind = Kind::Allocated;
    int context = 0;  // the owner's number
    uint16_t users = 0;
    uint64_t id = 0;   // unique
    ino_t number = 0;  // inode of the descriptor that is mapped at the range
    // Number on the host of the GPU that has the memory, for memory behind a descriptor; -1: the GPU of the context.
    int device = -1;
  };
  struct Range : Facts {
    UniqueFd fd;         // descriptor of shareable memory; for Opened, with a lock that the owner's driver sees
    bool mapped = true;  // false only for Reserved ranges where nothing is mapped
    int opened = 1;      // for Opened: how often the handle is open
  };

  static GpuMemory& ofThisProcess();

  // Fills the memory with a pattern, because it counts as not initialised.
  Status allocate(int context, size_t bytes, Kind kind, void*& memory);
  // Returns false for unknown memory, and for memory that another process has open: CUDA leaves freeing it undefined.
  bool release(void* memory, Kind kind);
  // Enables access of `context` to memory of the context `peer`. Returns false if it was enabled before.
  bool enablePeer(int context, int peer);
  // Ends the access of a context to memory of others, and of others to its memory.
  void forget(int context);

  // Legacy handles contain the process and the number of the descriptor. A handle stands for a whole allocation that is
  // not freed. A context that opens a handle again gets the same address, and must close the handle as often as it has
  // opened it.
  Status exportHandle(const void* memory, unsigned char* handle, size_t bytes);
  Status openHandle(int context, const unsigned char* handle, void*& memory);
  bool closeHandle(void* memory);

  // The driver's virtual memory management. A descriptor represents an allocation. `device` is the number on the host of
  // the GPU that has the memory.
  Status create(size_t bytes, int device, bool shareable, int& fd);
  // Returns that number for a descriptor of any process; -1 if it represents no memory of a GPU.
  static int deviceOf(int fd);
  Status reserve(size_t bytes, void*& memory);
  // `context` is the primary context of the allocation's device.
  Status map(void* memory, size_t bytes, int fd, int context);
  // Sets `fd` to a new descriptor of the allocation that is mapped at an address.
  Status retain(const void* memory, int& fd);
  // Marks reserved addresses as mapped, with no memory accessible at them. Returns false if the addresses are not
  // reserved or something is mapped there.
  bool mapNothing(void* memory, size_t bytes);
  // Returns the first address of the allocation with this inode, or null if it is not mapped.
  uint8_t* whereMapped(ino_t number);
  // Changes which contexts may access the memory: those with a bit in `given` may, those with a bit in `taken` may not.
  Status setUsers(void* memory, size_t bytes, uint16_t given, uint16_t taken);
  Status unmap(void* memory, size_t bytes);

  // Returns the bits of the contexts that may access the memory, or memory that the context allocates.
  uint16_t usersOf(const void* memory);
  uint16_t usersOfContext(int context);

  bool isAmongItsAddresses(const void* memory) const;
  // Sets `facts` to the facts of the range that contains the address. Returns false if no range contains it.
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
  std::array<uint16_t, 16> reaches_{};  // by context: bits of the contexts whose memory that context can access
};

}  // namespace jccl::emulator
