#include "cuda/test/emulator/weak_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cuda/test/emulator/machine_implementation.h"

namespace jccl::emulator {
namespace {

constexpr size_t kMaxPending = 4096;
constexpr size_t kGranule = 8;

// Sanitizers must not check the read of a granule: it stays in the page of the access, but can exceed the object.
using AliasingWord = uint64_t __attribute__((may_alias));

__attribute__((no_sanitize("address", "undefined"))) uint64_t readGranule(uint64_t address) {
  return *reinterpret_cast<const volatile AliasingWord*>(address);
}

// Writes only the bytes of the mask: the others may be outside the object.
void writeBytes(uint64_t address, uint64_t value, uint64_t mask) {
  if (mask == ~0ull) {
    std::memcpy(reinterpret_cast<void*>(address), &value, kGranule);
    return;
  }
  for (unsigned i = 0; i < kGranule; ++i) {
    if ((mask >> (8 * i) & 0xff) != 0)
      *reinterpret_cast<uint8_t*>(address + i) = static_cast<uint8_t>(value >> (8 * i));
  }
}

// An access within one granule.
struct Part {
  uint64_t granule;
  unsigned shift;  // in bits
  uint64_t mask;
};

Part partOf(const void* address, size_t bytes) {
  const auto at = reinterpret_cast<uint64_t>(address);
  const auto shift = static_cast<unsigned>(at % kGranule * 8);
  const uint64_t bits = bytes == kGranule ? ~0ull : (1ull << (8 * bytes)) - 1;
  return {at - at % kGranule, shift, bits << shift};
}

uint64_t merge(uint64_t old, uint64_t value, uint64_t mask) { return (old & ~mask) | (value & mask); }

uint64_t seenTime(const Seen& seen, uint32_t cell) {
  const uint32_t slot = cell % 64;
  return (seen.used >> slot & 1) != 0 && seen.cells[slot] == cell ? seen.times[slot] : 0;
}

void noteSeen(WeakThread& weak, uint32_t cell, uint64_t time) {
  if (time <= weak.view) return;
  Seen& seen = weak.seen;
  const uint32_t slot = cell % 64;
  if ((seen.used >> slot & 1) != 0) {
    if (seen.cells[slot] == cell) {
      seen.times[slot] = std::max(seen.times[slot], time);
      return;
    }
    weak.view = std::max(weak.view, seen.times[slot]);
  }
  seen.used |= 1ull << slot;
  seen.cells[slot] = cell;
  seen.times[slot] = time;
}

}  // namespace

WeakMemory::WeakMemory(Random& random) : random_(random), table_(1024) {
  const uint32_t lazy[] = {1, 4, 32, 256};
  lazy_ = lazy[random_.below(4)];
  const uint32_t stale[] = {2, 4, 16};
  staleOneIn_ = stale[random_.below(3)];
  newestFirst_ = random_.oneIn(2);
}

void WeakMemory::beginRun() {
  cells_.clear();
  std::fill(table_.begin(), table_.end(), nullptr);
  fresh_ = false;
}

void WeakMemory::begin(Block& block) {
  block.weakThreads = std::shared_ptr<WeakThread[]>(new WeakThread[block.threads.size()]);
  for (Thread& thread : block.threads) {
    thread.weak = &block.weakThreads[thread.index];
    thread.weak->view = now_;
    thread.weak->known.assign(block.threads.size(), 0);
  }
}

void WeakMemory::end(Block& block) {
  while (block.oldestStore != nullptr) makeVisible(block.oldestStore);
}

Cell* WeakMemory::find(uint64_t address) const {
  for (size_t i = (address / kGranule) * 0x9e3779b97f4a7c15ull >> 32;; ++i) {
    Cell* cell = table_[i & (table_.size() - 1)];
    if (cell == nullptr || cell->address == address) return cell;
  }
}

Cell& WeakMemory::findOrMake(uint64_t address) {
  if (Cell* cell = find(address)) return *cell;
  if (cells_.size() * 2 >= table_.size()) growTable();
  Cell& cell = cells_.emplace_back();
  cell.address = address;
  cell.id = static_cast<uint32_t>(cells_.size());
  cell.count = 1;
  cell.versions[0].value = readGranule(address);
  size_t i = (address / kGranule) * 0x9e3779b97f4a7c15ull >> 32;
  while (table_[i & (table_.size() - 1)] != nullptr) ++i;
  table_[i & (table_.size() - 1)] = &cell;
  return cell;
}

void WeakMemory::growTable() {
  table_.assign(table_.size() * 2, nullptr);
  for (Cell& cell : cells_) {
    size_t i = (cell.address / kGranule) * 0x9e3779b97f4a7c15ull >> 32;
    while (table_[i & (table_.size() - 1)] != nullptr) ++i;
    table_[i & (table_.size() - 1)] = &cell;
  }
}

PendingStore* WeakMemory::newStore() {
  if (free_.empty()) return &stores_.emplace_back();
  PendingStore* store = free_.back();
  free_.pop_back();
  *store = PendingStore{};
  return store;
}

PendingStore* WeakMemory::append(Thread& thread, uint64_t address, uint64_t value, uint64_t mask, uint64_t belongs) {
  Cell& cell = findOrMake(address);
  Block& block = *thread.block;
  PendingStore* store = newStore();
  store->cell = &cell;
  store->value = value;
  store->mask = mask;
  store->block = &block;
  store->thread = thread.index;
  store->number = ++thread.weak->stores;
  store->lineMate = store;
  // A relaxed store continues the release sequence of its thread's earlier stores to the same granule.
  const Version& current = cell.versions[cell.count - 1];
  if (current.number != 0 && current.block == block.number && current.thread == thread.index) {
    belongs = std::max(belongs, current.belongs);
  }
  for (const PendingStore* other = cell.oldest; other != nullptr; other = other->newer) {
    if (other->block == &block && other->thread == thread.index) belongs = std::max(belongs, other->belongs);
  }
  store->belongs = belongs;
  (cell.oldest == nullptr ? cell.oldest : cell.newest->newer) = store;
  cell.newest = store;
  store->before = block.newestStore;
  (block.oldestStore == nullptr ? block.oldestStore : block.newestStore->after) = store;
  block.newestStore = store;
  store->position = pending_.size();
  pending_.push_back(store);
  return store;
}

void WeakMemory::unlink(PendingStore* store) {
  Cell& cell = *store->cell;
  PendingStore* older = nullptr;
  for (PendingStore* other = cell.oldest; other != store; other = other->newer) older = other;
  (older == nullptr ? cell.oldest : older->newer) = store->newer;
  if (cell.newest == store) cell.newest = older;
  Block& block = *store->block;
  (store->before == nullptr ? block.oldestStore : store->before->after) = store->after;
  (store->after == nullptr ? block.newestStore : store->after->before) = store->before;
  pending_[store->position] = pending_.back();
  pending_[store->position]->position = store->position;
  pending_.pop_back();
  store->pending = false;
  free_.push_back(store);
}

void WeakMemory::apply(PendingStore* store, uint64_t time) {
  Cell& cell = *store->cell;
  const uint64_t before = readGranule(cell.address);
  const uint64_t value = merge(before, store->value, store->mask);
  if (value != before) {
    writeBytes(cell.address, store->value, store->mask);
    context.changed = true;
  }
  if (cell.count == Cell::kVersions) {
    std::move(cell.versions + 1, cell.versions + cell.count, cell.versions);
    --cell.count;
  }
  cell.versions[cell.count++] = {value, time, store->belongs, store->block->number, store->thread, store->number};
  unlink(store);
}

void WeakMemory::makePredecessorsVisible(const PendingStore* store) {
  for (PendingStore* other = store->cell->oldest; other != store;) {
    if (other->block == store->block) {
      makeVisible(other);
      other = store->cell->oldest;
    } else {
      other = other->newer;
    }
  }
}

void WeakMemory::makeVisible(PendingStore* store) {
  if (store->lineMate == store) {
    makePredecessorsVisible(store);
    apply(store, ++now_);
    return;
  }
  // makePredecessorsVisible() can call this function again. This recursion ends, because predecessors were stored
  // earlier. It can overwrite line_, so line_ is filled afterwards.
  PendingStore* mate = store;
  do {
    makePredecessorsVisible(mate);
    mate = mate->lineMate;
  } while (mate != store);
  line_.clear();
  do {
    line_.push_back(mate);
    mate = mate->lineMate;
  } while (mate != store);
  ++now_;
  for (PendingStore* member : line_) apply(member, now_);
}

void WeakMemory::commitSome(size_t count) {
  for (; count != 0 && !pending_.empty(); --count) {
    const auto size = static_cast<uint32_t>(pending_.size());
    makeVisible(pending_[newestFirst_ && !random_.oneIn(4) ? size - 1 : random_.below(size)]);
  }
}

bool WeakMemory::commit() {
  if (pending_.empty()) return false;
  commitSome(1 + random_.below(static_cast<uint32_t>(pending_.size())));
  return true;
}

bool WeakMemory::knows(const Thread& thread, uint32_t block, uint32_t writer, uint32_t number) {
  if (number == 0 || block != thread.block->number) return false;
  return writer == thread.index || thread.weak->known[writer] >= number;
}

void WeakMemory::makeKnownVisible(Thread& thread) {
  const Block& block = *thread.block;
  knownStores_.clear();
  for (PendingStore* store = block.oldestStore; store != nullptr; store = store->after) {
    if (knows(thread, block.number, store->thread, store->number)) knownStores_.push_back(store);
  }
  // A store of the list may already be visible: it can become visible along with an earlier store of the list.
  for (PendingStore* store : knownStores_) {
    if (store->pending) makeVisible(store);
  }
}

int WeakMemory::oldestAllowed(const Thread& thread, const Cell& cell) const {
  const uint64_t from = std::max(thread.weak->view, seenTime(thread.weak->seen, cell.id));
  int i = cell.count - 1;
  for (; i > 0; --i) {
    const Version& version = cell.versions[i];
    if (version.time <= from || knows(thread, version.block, version.thread, version.number)) break;
  }
  return i;
}

void WeakMemory::notice(WeakThread& weak, const Cell& cell, const Version& version, bool acquire) {
  noteSeen(weak, cell.id, version.time);
  uint64_t& moved = acquire ? weak.view : weak.acquirable;
  moved = std::max(moved, version.belongs);
}

// Returns `value` after applying the pending stores that the thread knows.
uint64_t WeakMemory::overlay(const Thread& thread, const Cell& cell, uint64_t value) const {
  for (const PendingStore* store = cell.oldest; store != nullptr; store = store->newer) {
    if (knows(thread, store->block->number, store->thread, store->number)) {
      value = merge(value, store->value, store->mask);
    }
  }
  return value;
}

void WeakMemory::load(Thread& thread, const void* address, void* value, size_t bytes, bool acquire) {
  for (size_t done = 0; done < bytes; done += kGranule) {
    const size_t size = std::min(bytes, kGranule);
    const Part part = partOf(static_cast<const std::byte*>(address) + done, size);
    const Cell* cell = find(part.granule);
    if (cell == nullptr) continue;  // no thread of this run has stored here: `value` is already right
    int i = cell->count - 1;
    if (!fresh_ && random_.oneIn(staleOneIn_)) {
      const int oldest = oldestAllowed(thread, *cell);
      i = oldest + static_cast<int>(random_.below(static_cast<uint32_t>(i - oldest + 1)));
    }
    notice(*thread.weak, *cell, cell->versions[i], acquire);
    const uint64_t found = overlay(thread, *cell, cell->versions[i].value) >> part.shift;
    std::memcpy(static_cast<std::byte*>(value) + done, &found, size);
  }
}

void WeakMemory::store(Thread& thread, void* address, const void* value, size_t bytes, bool release) {
  if (pending_.size() >= kMaxPending) commitSome(16);
  uint64_t belongs = thread.weak->fence;
  if (release) {
    makeKnownVisible(thread);
    belongs = now_;
  }
  for (size_t done = 0; done < bytes; done += kGranule) {
    const size_t size = std::min(bytes, kGranule);
    const Part part = partOf(static_cast<std::byte*>(address) + done, size);
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const std::byte*>(value) + done, size);
    append(thread, part.granule, bits << part.shift, part.mask, belongs);
  }
}

void WeakMemory::storeFirst(Thread& thread, uint32_t* address, uint32_t value) {
  makeKnownVisible(thread);
  if (const Cell* cell = find(partOf(address, sizeof value).granule)) {
    notice(*thread.weak, *cell, cell->versions[cell->count - 1], false);
  }
  if (*address != 0) return;  // memory holds the newest visible value
  store(thread, address, &value, sizeof value, true);
  makeKnownVisible(thread);
}

uint32_t WeakMemory::add(Thread& thread, uint32_t* address, uint32_t value) {
  makeKnownVisible(thread);
  if (const Cell* cell = find(partOf(address, sizeof value).granule)) {
    notice(*thread.weak, *cell, cell->versions[cell->count - 1], true);
  }
  const uint32_t before = *address;  // memory holds the newest visible value
  const uint32_t sum = before + value;
  store(thread, address, &sum, sizeof sum, true);
  makeKnownVisible(thread);
  return before;
}

void WeakMemory::fence(Thread& thread) {
  makeKnownVisible(thread);
  thread.weak->fence = now_;
  thread.weak->view = std::max(thread.weak->view, thread.weak->acquirable);
}

void WeakMemory::storeLines(const Warp& warp, const LineMeeting& meeting) {
  if (pending_.size() >= kMaxPending) commitSome(16);
  for (uint32_t left = meeting.mask; left != 0;) {
    const auto line = reinterpret_cast<uint64_t>(meeting.addresses[std::countr_zero(left)]) / 128;
    PendingStore* first = nullptr;
    for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const auto address = reinterpret_cast<uint64_t>(meeting.addresses[lane]);
      if (address / 128 != line) continue;
      left &= ~(1u << lane);
      Thread& thread = *warp.lanes[lane];
      for (unsigned half = 0; half < 2; ++half) {
        PendingStore* store =
            append(thread, address + half * kGranule, meeting.values[lane][half], ~0ull, thread.weak->fence);
        if (first == nullptr) {
          first = store;
        } else {
          store->lineMate = first->lineMate;
          first->lineMate = store;
        }
      }
    }
  }
}

void WeakMemory::loadLines(const Warp& warp, const LineMeeting& meeting) {
  for (uint32_t left = meeting.mask; left != 0;) {
    const auto line = reinterpret_cast<uint64_t>(meeting.addresses[std::countr_zero(left)]) / 128;
    Thread* lanes[32];
    int count = 0;
    for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (reinterpret_cast<uint64_t>(meeting.addresses[lane]) / 128 != line) continue;
      left &= ~(1u << lane);
      lanes[count++] = warp.lanes[lane];
    }
    loadLine(lanes, count, meeting);
  }
}

// Loads the line as it was at one moment that is not too old for any lane.
void WeakMemory::loadLine(Thread* const* lanes, int count, const LineMeeting& meeting) {
  uint64_t earliest = 0;
  uint64_t times[32 * 2 * Cell::kVersions];
  uint32_t timeCount = 0;
  const auto forGranules = [&](auto action) {
    for (int i = 0; i < count; ++i) {
      const auto address = reinterpret_cast<uint64_t>(meeting.addresses[lanes[i]->lane]);
      for (unsigned half = 0; half < 2; ++half) {
        uint64_t& value = meeting.values[lanes[i]->lane][half];
        if (const Cell* cell = find(address + half * kGranule)) action(*lanes[i], *cell, value);
      }
    }
  };
  forGranules([&](const Thread& thread, const Cell& cell, uint64_t&) {
    earliest = std::max(earliest, cell.versions[oldestAllowed(thread, cell)].time);
    for (int i = 0; i < cell.count; ++i) times[timeCount++] = cell.versions[i].time;
  });
  uint64_t moment = now_;
  if (!fresh_ && timeCount != 0 && random_.oneIn(staleOneIn_)) {
    moment = std::max(earliest, times[random_.below(timeCount)]);
  }
  forGranules([&](Thread& thread, const Cell& cell, uint64_t& value) {
    int i = cell.count - 1;
    while (i > 0 && cell.versions[i].time > moment) --i;
    notice(*thread.weak, cell, cell.versions[i], false);
    value = overlay(thread, cell, cell.versions[i].value);
  });
}

void WeakMemory::meet(const std::vector<Thread*>& threads) {
  known_.assign(threads[0]->weak->known.size(), 0);
  uint64_t view = 0;
  for (const Thread* thread : threads) {
    WeakThread& weak = *thread->weak;
    weak.known[thread->index] = weak.stores;
    for (size_t i = 0; i < known_.size(); ++i) known_[i] = std::max(known_[i], weak.known[i]);
    view = std::max(view, weak.view);
  }
  seen_.clear();
  for (const Thread* thread : threads) {
    Seen& seen = thread->weak->seen;
    for (uint64_t left = seen.used; left != 0; left &= left - 1) {
      const int slot = std::countr_zero(left);
      if (seen.times[slot] <= view) {
        seen.used &= ~(1ull << slot);
      } else if (std::find(seen_.begin(), seen_.end(), std::pair{seen.cells[slot], seen.times[slot]}) == seen_.end()) {
        seen_.emplace_back(seen.cells[slot], seen.times[slot]);
      }
    }
  }
  for (const Thread* thread : threads) {
    WeakThread& weak = *thread->weak;
    weak.view = std::max(weak.view, view);
    weak.known = known_;
    for (const auto& [cell, time] : seen_) noteSeen(weak, cell, time);
  }
}

void weakLoad(const void* address, void* value, size_t bytes) {
  Thread& thread = *context.thread;
  context.machine->weak()->load(thread, address, value, bytes, thread.operation == Operation::LoadAcquire);
}

void weakStore(void* address, const void* value, size_t bytes) {
  // The store becomes visible later. An address that cannot be accessed faults here.
  auto* byte = static_cast<volatile std::byte*>(address);
  static_cast<void>(byte[0]);
  static_cast<void>(byte[bytes - 1]);
  Thread& thread = *context.thread;
  const bool release = thread.operation == Operation::StoreRelease || thread.operation == Operation::ReleaseMulticast;
  context.machine->weak()->store(thread, address, value, bytes, release);
}

void weakStoreFirst(uint32_t* address, uint32_t value) {
  context.machine->weak()->storeFirst(*context.thread, address, value);
}
uint32_t weakAdd(uint32_t* address, uint32_t value) {
  return context.machine->weak()->add(*context.thread, address, value);
}
void weakFence() { context.machine->weak()->fence(*context.thread); }

}  // namespace jccl::emulator
