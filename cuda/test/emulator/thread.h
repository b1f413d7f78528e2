// State of an emulated CUDA thread, its warp, block and launch, and the emulator's functions that simt.h and memory.h
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "cuda/test/emulator/access_map.h"
#include "cuda/test/emulator/fiber.h"
#include "cuda/test/emulator/machine.h"
#include "cuda/test/emulator/transactions.h"

namespace jccl::emulator {

// Functions of simt.h, memory.h and multicast.h. Reports name them, and the hash of a thread's path includes them.
enum class Operation : uint8_t {
  Begin,
  SyncBlock,
  SyncThreads,
  SyncOr,
  SyncWarp,
  Any,
  All,
  Shuffle,
  Nanos,
  Pause,
  LoadRelaxed,
  LoadAcquire,
  StoreRelaxed,
  StoreRelease,
  AddOrdered,
  Fence,
  LoadCells,
  StoreCells,
  LoadLine,
  StoreLine,
  LoadPeer,
  StorePeer,
  LoadUser,
  StoreUser,
  LoadReduced,
  StoreMulticast,
  ReleaseMulticast,
  FenceAliases,
};

enum class State : uint8_t { Ready, Spinning, AtBarrier, InWarp, AtLine, Exited };

struct Warp;
struct Block;
struct WeakThread;
struct PendingStore;

struct Thread {
  unsigned index = 0;
  unsigned lane = 0;
  unsigned blockIndex = 0;
  unsigned blockThreads = 0;
  Warp* warp = nullptr;
  Block* block = nullptr;
  Fiber fiber;
  State state = State::Ready;

  // The last call, and a hash of all calls since the lanes in `mates` met in the warp's meeting number `meeting`.
  Operation operation = Operation::Begin;
  std::source_location place;
  std::source_location looked;  // source line of the last load; reports name it for a thread that polls
  uint32_t mates = 0;
  uint64_t meeting = 0;
  uint64_t path = 0;
  uint32_t calls = 0;

  uint64_t result = 0;            // result of a barrier or warp function; the thread that completes it sets it
  bool apart = false;             // the line meeting where the thread waited has broken up
  Thread* nextWaiting = nullptr;  // next thread that waits at the same barrier
  uint32_t waitingMask = 0;       // mask of the warp function or line access in which the thread waits
  int barrier = 0, expected = 0;  // id and thread count of the barrier where the thread waits
  WeakThread* weak = nullptr;     // state in the weak memory; null if memory is strong
  ThreadTransactions transactions;
};

// Lanes that wait for each other in a warp function of simt.h.
struct WarpMeeting {
  Operation operation = Operation::SyncWarp;
  uint32_t mask = 0;
  uint32_t arrived = 0;
  uint64_t values[32] = {};
  int sources[32] = {};
};

// Lanes that wait for each other at storeLine or loadLine.
struct LineMeeting {
  Operation operation = Operation::StoreLine;
  uint32_t mask = 0;
  uint32_t arrived = 0;
  uint64_t meeting = 0;
  uint64_t path = 0;
  uint32_t calls = 0;
  void* addresses[32] = {};
  uint64_t* values[32] = {};
};

struct Warp {
  Thread* lanes[32] = {};
  uint32_t existing = 0;
  uint32_t exited = 0;
  uint64_t meetings = 0;
  std::vector<WarpMeeting> meeting;  // incomplete meetings
  std::vector<LineMeeting> atLine;
};

struct Barrier {
  Operation operation = Operation::SyncBlock;
  int expected = 0;
  int arrived = 0;
  bool vote = false;
  Thread* first = nullptr;
  Thread* last = nullptr;
};

struct Launch;

struct Block {
  Launch* launch = nullptr;
  unsigned index = 0;
  uint32_t number = 0;  // number among all blocks of the machine
  unsigned exited = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Barrier barriers[16];
  std::vector<std::unique_ptr<std::byte[]>> shared;  // shared memory, by variable
  // For the weak memory: state of the threads, and the list of their stores that are not visible yet.
  std::shared_ptr<WeakThread[]> weakThreads;
  PendingStore* oldestStore = nullptr;
  PendingStore* newestStore = nullptr;
};

struct Launch {
  int id = 0;
  std::string name;
  unsigned blockCount = 0;
  unsigned threadCount = 0;
  std::function<void()> body;
  int after = -1;
  uint16_t user = 0xffff;
  bool begun = false;
  unsigned blocksLeft = 0;
  Transactions transactions;
  std::vector<std::unique_ptr<Block>> blocks;
};

// State of the machine that runs in this OS thread. Every call reads it.
struct Context {
  Thread* thread = nullptr;
  int fuel = 0;                          // calls until the scheduler interrupts the thread
  bool weak = false;                     // memory is weak
  bool changed = false;                  // since last cleared: memory changed, a launch began or a thread ended
  const MemoryPlaces* places = nullptr;  // null: transactions are not counted
  Machine::Implementation* machine = nullptr;
};
extern constinit thread_local Context context;

void refuel();
void spin();
uint64_t virtualNanos();
unsigned newSharedVariable();
void* sharedMemory(unsigned variable, size_t bytes, size_t alignment);
bool meetAtBarrier(int barrier, int threads, bool vote);
uint64_t meetInWarp(unsigned mask, uint64_t value, int source);
void meetAtLine(void* address, uint64_t* value, unsigned mask);
void weakLoad(const void* address, void* value, size_t bytes);
void weakStore(void* address, const void* value, size_t bytes);
void weakStoreFirst(uint32_t* address, uint32_t value);
uint32_t weakAdd(uint32_t* address, uint32_t value);
void weakFence();
// Called only if transactions are counted: when a call of simt.h or memory.h begins, for each access, and when a thread
// ends.
void noteOperation(Operation operation);
void countAccess(Operation operation, const void* address, size_t bytes);
void countEnd(Thread& thread);
[[noreturn]] void failMisaligned(const void* address, size_t bytes);
[[noreturn]] void failIllegal(const void* address, size_t bytes);

// Counts an access of a kernel. Ends the run if the kernel's device may not access the memory.
[[gnu::always_inline]] inline void checkAccess(const void* address, size_t bytes) {
  if (context.places != nullptr) countAccess(context.thread->operation, address, bytes);
  const uint16_t* users = accessMap.usersOf(address);
  if (users == nullptr) return;
  if ((__atomic_load_n(users, __ATOMIC_RELAXED) & context.thread->block->launch->user) == 0)
    failIllegal(address, bytes);
}

// Returns true if the running thread meets a fault at an address.
[[gnu::always_inline]] inline bool meetsFault(unsigned fault, const void* address) {
  if (peerFaults == nullptr) return false;
  const Launch& launch = *context.thread->block->launch;
  return (peerFaults(address, launch.user, launch.name) & fault) != 0;
}

// Every function of simt.h and memory.h calls this first.
[[gnu::always_inline]] inline void enter(Operation operation, const std::source_location& place) {
  Thread& thread = *context.thread;
  thread.operation = operation;
  thread.place = place;
  thread.path = (thread.path ^ (place.line() * 64ull + static_cast<uint64_t>(operation))) * 0x9e3779b97f4a7c15ull;
  ++thread.calls;
  if (context.places != nullptr) noteOperation(operation);
  if (__builtin_expect(--context.fuel < 0, 0)) refuel();
}

}  // namespace jccl::emulator
