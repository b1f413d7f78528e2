// Global memory that guarantees no more than the memory model. The seed decides when stores become visible and how old
// the values are that loads see.
//
// Memory consists of granules of 8 aligned bytes. A store is PENDING at first. Some time later it becomes visible to
// all threads at one moment: before or after other stores of its thread, but in order with the stores of its block to
// the same granule. Each such moment has a time. A granule keeps its last few values and the times when they became
// current.
//
// A load sees the stores of its own thread. It also sees the stores that another thread of the block made before a
// barrier (block, named or warp) in which both took part, even if they are pending. Apart from these, it sees any value
// that was current between a time called the thread's VIEW and now, but none older than the thread has already seen of
// the granule. So a value can be stale for a long time unless the view moves:
//
//   storeRelease, fence   first make visible all stores that the thread made or knows through barriers. A released
//                         value carries the time of its release; a relaxed one, the time of the thread's last fence.
//   loadAcquire           moves the view to the time that the loaded value carries. A fence does so for all values that
//                         the thread loaded before it by relaxed loads.
//   storeFirst            reads the newest value; its store is a release that is visible at once.
//   addOrdered            the same, and reads as an acquire.
//   barriers, syncWarp    move the views of all participants to the latest of them.
//
// An access of 16 bytes covers two granules. Each line of a converged storeLine becomes visible at one moment, and a
// converged loadLine sees each line as it was at one moment.
//
// The memory model allows all that the emulator shows, but the emulator does not show all that the model allows. Its
// time is a single number, which orders more than the GPU's rules do, and a load never takes effect after a store that
// follows it. Shared memory is plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cuda/test/emulator/random.h"
#include "cuda/test/emulator/thread.h"

namespace jccl::emulator {

struct Cell;

struct PendingStore {
  Cell* cell = nullptr;
  uint64_t value = 0;
  uint64_t mask = 0;  // bits that the store writes
  bool pending = true;
  Block* block = nullptr;
  uint32_t thread = 0;
  uint32_t number = 0;             // number among the thread's stores, from 1
  uint64_t belongs = 0;            // time that the value carries: an acquire of the value moves the view there
  PendingStore* newer = nullptr;   // next younger pending store to the cell
  PendingStore* before = nullptr;  // neighbours in the block's list of pending stores
  PendingStore* after = nullptr;
  PendingStore* lineMate = nullptr;  // next store of a ring: its stores become visible at the same moment
  size_t position = 0;               // index in WeakMemory::pending_
};

// The current or a former value of a granule.
struct Version {
  uint64_t value = 0;
  uint64_t time = 0;  // when the value became current
  uint64_t belongs = 0;
  uint32_t block = 0;  // block, thread and number of the store
  uint32_t thread = 0;
  uint32_t number = 0;  // 0: no thread of this run stored the value
};

// A granule to which a thread of this run has stored.
struct Cell {
  static constexpr int kVersions = 4;
  uint64_t address = 0;
  uint32_t id = 0;
  int count = 0;
  Version versions[kVersions];     // oldest first
  PendingStore* oldest = nullptr;  // list of pending stores
  PendingStore* newest = nullptr;
};

// For granules of which a thread has seen versions later than its view: the time of the newest version seen. The table
// is small: when a new entry replaces an old one, the view moves to the old entry's time.
struct Seen {
  uint64_t used = 0;  // a bit for each entry
  uint32_t cells[64];
  uint64_t times[64];
};

struct WeakThread {
  uint64_t view = 0;
  uint64_t fence = 0;       // time of the last fence
  uint64_t acquirable = 0;  // time to which a fence moves the view
  uint32_t stores = 0;
  std::vector<uint32_t> known;  // by thread of the block: number of its stores that this thread knows through barriers
  Seen seen;
};

class WeakMemory {
 public:
  explicit WeakMemory(Random& random);

  void beginRun();
  void begin(Block& block);
  // Makes all stores of the block visible.
  void end(Block& block);

  void load(Thread& thread, const void* address, void* value, size_t bytes, bool acquire);
  void store(Thread& thread, void* address, const void* value, size_t bytes, bool release);
  // If the newest value is 0, stores `value`, visible at once.
  void storeFirst(Thread& thread, uint32_t* address, uint32_t value);
  // Adds to the newest value, which it returns; the sum is visible at once.
  uint32_t add(Thread& thread, uint32_t* address, uint32_t value);
  void fence(Thread& thread);
  void loadLines(const Warp& warp, const LineMeeting& meeting);
  void storeLines(const Warp& warp, const LineMeeting& meeting);
  // Called when threads meet at a barrier. Everything that one of them did before the barrier happens before everything
  // that any of them does after it.
  void meet(const std::vector<Thread*>& threads);

  // Called as time passes: a pending store may become visible.
  void tick() {
    if (!pending_.empty() && random_.oneIn(lazy_)) commitSome(1);
  }
  // Makes at least one pending store visible. Returns false if none is pending.
  bool commit();
  // From now on, loads see only current values if `fresh`.
  void fresh(bool fresh) { fresh_ = fresh; }

 private:
  Cell* find(uint64_t address) const;
  Cell& findOrMake(uint64_t address);
  void growTable();
  PendingStore* newStore();
  PendingStore* append(Thread& thread, uint64_t address, uint64_t value, uint64_t mask, uint64_t belongs);
  void makeVisible(PendingStore* store);
  void makePredecessorsVisible(const PendingStore* store);
  void apply(PendingStore* store, uint64_t time);
  void unlink(PendingStore* store);
  void commitSome(size_t count);
  void makeKnownVisible(Thread& thread);
  static bool knows(const Thread& thread, uint32_t block, uint32_t writer, uint32_t number);
  int oldestAllowed(const Thread& thread, const Cell& cell) const;
  void notice(WeakThread& weak, const Cell& cell, const Version& version, bool acquire);
  uint64_t overlay(const Thread& thread, const Cell& cell, uint64_t value) const;
  void loadLine(Thread* const* lanes, int count, const LineMeeting& meeting);

  Random& random_;
  uint32_t lazy_;        // one in `lazy_` ticks makes a store visible
  uint32_t staleOneIn_;  // one in `staleOneIn_` loads may see an old value
  bool newestFirst_;
  bool fresh_ = false;
  uint64_t now_ = 1;
  std::deque<Cell> cells_;
  std::vector<Cell*> table_;  // hash table with open addressing; the size is a power of two
  std::deque<PendingStore> stores_;
  std::vector<PendingStore*> free_;
  std::vector<PendingStore*> pending_;
  // Scratch vectors, members so that their memory is reused.
  std::vector<PendingStore*> line_;
  std::vector<PendingStore*> knownStores_;
  std::vector<uint32_t> known_;
  std::vector<std::pair<uint32_t, uint64_t>> seen_;
};

}  // namespace jccl::emulator
