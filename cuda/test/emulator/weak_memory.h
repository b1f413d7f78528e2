// Global memory that guarantees no more than the memory model, by seed.
//
// Memory is granules of 8 aligned bytes. A store first waits with its thread ("pending"); it becomes visible to all at
// one moment some time later, before or after other stores of the same thread, but in order with those of its block to
// the same granule. Every such moment has a time; a granule remembers its last few values and since when they were
// current.
//
// What a load sees: what its own thread has stored; what other threads of the block stored before a barrier (block,
// named or warp) that both took part in, even if it is pending; else any value that was current between the thread's
// VIEW and now, but none older than what the thread has already seen of the granule. So a value may be stale for long
// unless the view is moved:
//
//   storeRelease, fence   first make visible all that the thread stored and knows through barriers; the store then says
//                         that everything until that time belongs to it (a relaxed store does so since the last fence)
//   loadAcquire           moves the view to the time that the value found belongs to; a fence does so for all values
//                         that the thread has found by relaxed loads before it
//   storeFirst            reads the newest value, and its store, a release, is visible at once
//   barriers, syncWarp    all views become the latest of them
//
// 16 bytes are two granules. The lines of a converged storeLine become visible at one moment each, and a converged
// loadLine sees each as it was at one moment.
//
// What the emulator shows may happen, but it does not show all that may: time, a single number, orders more than the
// GPU's rules do, and loads are done where they stand, never later than stores that follow them. Shared memory
// is plain.
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
  uint64_t mask = 0;  // the bits that it writes
  bool pending = true;
  Block* block = nullptr;
  uint32_t thread = 0;
  uint32_t number = 0;             // of the thread's stores
  uint64_t belongs = 0;            // the time until which everything belongs to it
  PendingStore* newer = nullptr;   // in the cell
  PendingStore* before = nullptr;  // in the block
  PendingStore* after = nullptr;
  PendingStore* lineMate = nullptr;  // becomes visible at the same moment; a circle
  size_t position = 0;               // among all that are pending
};

// A value that a granule has had.
struct Version {
  uint64_t value = 0;
  uint64_t time = 0;  // since when
  uint64_t belongs = 0;
  uint32_t block = 0;  // who stored it
  uint32_t thread = 0;
  uint32_t number = 0;  // 0: no thread in this run
};

// A granule that this run has stored to.
struct Cell {
  static constexpr int kVersions = 4;
  uint64_t address = 0;
  uint32_t id = 0;
  int count = 0;
  Version versions[kVersions];  // from old to new
  PendingStore* oldest = nullptr;
  PendingStore* newest = nullptr;
};

// What a thread has seen of granules, later than its view. Small: what is forgotten becomes part of the view.
struct Seen {
  uint64_t used = 0;  // a bit for each
  uint32_t cells[64];
  uint64_t times[64];
};

struct WeakThread {
  uint64_t view = 0;
  uint64_t fence = 0;       // the time of the last one
  uint64_t acquirable = 0;  // what a fence moves the view to
  uint32_t stores = 0;
  std::vector<uint32_t> known;  // by thread of the block: how many of its stores happened before
  Seen seen;
};

class WeakMemory {
 public:
  explicit WeakMemory(Random& random);

  void beginRun();
  void begin(Block& block);
  // All that the block stored becomes visible.
  void end(Block& block);

  void load(Thread& thread, const void* address, void* value, size_t bytes, bool acquire);
  void store(Thread& thread, void* address, const void* value, size_t bytes, bool release);
  // Stores where the newest value is 0, and is visible at once.
  void storeFirst(Thread& thread, uint32_t* address, uint32_t value);
  void fence(Thread& thread);
  void loadLines(const Warp& warp, const LineMeeting& meeting);
  void storeLines(const Warp& warp, const LineMeeting& meeting);
  // What happened before in one of them has happened before in all.
  void meet(const std::vector<Thread*>& threads);

  // Time passes: something may become visible.
  void tick() {
    if (!pending_.empty() && random_.oneIn(lazy_)) commitSome(1);
  }
  // Some of what is pending, at least one, becomes visible; false if nothing is pending.
  bool commit();
  // From here on loads see what is current.
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
  uint32_t lazy_;        // how rarely stores become visible
  uint32_t staleOneIn_;  // how often loads see old values
  bool newestFirst_;
  bool fresh_ = false;
  uint64_t now_ = 1;
  std::deque<Cell> cells_;
  std::vector<Cell*> table_;  // open addressing, a power of two
  std::deque<PendingStore> stores_;
  std::vector<PendingStore*> free_;
  std::vector<PendingStore*> pending_;
  // Scratch.
  std::vector<PendingStore*> line_;
  std::vector<PendingStore*> knownStores_;
  std::vector<uint32_t> known_;
  std::vector<std::pair<uint32_t, uint64_t>> seen_;
};

}  // namespace jccl::emulator
