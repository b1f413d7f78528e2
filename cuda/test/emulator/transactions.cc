#include "cuda/test/emulator/transactions.h"

#include <algorithm>
#include <bit>

#include "cuda/test/emulator/machine_implementation.h"

namespace jccl::emulator {
namespace {

bool isLoad(Operation operation) {
  return operation == Operation::LoadRelaxed || operation == Operation::LoadAcquire ||
         operation == Operation::LoadCells || operation == Operation::LoadLine || operation == Operation::LoadPeer ||
         operation == Operation::LoadUser;
}

bool isWord(Operation operation) {
  return operation == Operation::LoadRelaxed || operation == Operation::LoadAcquire ||
         operation == Operation::StoreRelaxed || operation == Operation::StoreRelease ||
         operation == Operation::AddOrdered;
}

// Returns true for the kinds of loads with which loops poll.
bool mayPoll(Operation operation) {
  return isLoad(operation) && operation != Operation::LoadPeer && operation != Operation::LoadUser;
}

void countOne(Accesses& accesses, size_t bytes) { ++accesses.byWidth[std::countr_zero(bytes)]; }

// Counts the thread's latest loads that could have been polls, when it is clear that they were not.
void settle(Transactions& all, ThreadTransactions& own) {
  for (int place = 0; place < kPlaceCount; ++place) {
    all.at[place].loads.add(own.waiting[place]);
    all.at[place].words += own.waitingWords[place];
    own.waiting[place] = {};
    own.waitingWords[place] = 0;
  }
}

void endRound(ThreadTransactions& own) {
  if (own.loads) ++own.rounds;
  own.loads = false;
}

}  // namespace

uint64_t Accesses::count() const {
  uint64_t sum = 0;
  for (const uint64_t number : byWidth) sum += number;
  return sum;
}

uint64_t Accesses::bytes() const {
  uint64_t sum = 0;
  for (int width = 0; width < kWidths; ++width) sum += byWidth[width] << width;
  return sum;
}

void Accesses::add(const Accesses& other) {
  for (int width = 0; width < kWidths; ++width) byWidth[width] += other.byWidth[width];
}

void Transactions::add(const Transactions& other) {
  for (int place = 0; place < kPlaceCount; ++place) {
    at[place].loads.add(other.at[place].loads);
    at[place].stores.add(other.at[place].stores);
    at[place].words += other.at[place].words;
    at[place].polled += other.at[place].polled;
  }
  fences += other.fences;
  polls += other.polls;
  rounds = std::max(rounds, other.rounds);
}

Place MemoryPlaces::placeOf(const void* address, int device) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const Region& region : regions) {
    if (at < region.begin || at >= region.end) continue;
    return region.device == kHost ? Place::Host : region.device == device ? Place::Local : Place::Peer;
  }
  return Place::Local;
}

void noteOperation(Operation operation) {
  Thread& thread = *context.thread;
  Transactions& all = thread.block->launch->transactions;
  ThreadTransactions& own = thread.transactions;
  switch (operation) {
    case Operation::Pause:
      ++all.polls;
      if (own.acquires) own.loads = false;
      for (int place = 0; place < kPlaceCount; ++place) {
        all.at[place].polled += own.waiting[place].count();
        own.waiting[place] = {};
        own.waitingWords[place] = 0;
      }
      return;
    case Operation::Fence:
      ++all.fences;
      break;
    case Operation::Any:
    case Operation::All:
    case Operation::Nanos:
      return;
    default:
      break;
  }
  if (!isLoad(operation)) settle(all, own);
}

void countAccess(Operation operation, const void* address, size_t bytes) {
  Thread& thread = *context.thread;
  Launch& launch = *thread.block->launch;
  ThreadTransactions& own = thread.transactions;
  const int place = static_cast<int>(context.places->placeOf(address, launch.id));
  Transactions::Traffic& traffic = launch.transactions.at[place];
  if (!isLoad(operation)) {
    endRound(own);
    countOne(traffic.stores, bytes);
    traffic.words += isWord(operation) ? 1 : 0;
    return;
  }
  own.acquires = operation == Operation::LoadAcquire;
  if (own.acquires) endRound(own);
  own.loads = true;
  if (!mayPoll(operation)) return countOne(traffic.loads, bytes);
  // A loop may poll several lines, so the address of loadLine may differ from the previous one.
  const unsigned from = thread.place.line();
  if (from != own.lookedFrom || (address != own.lookedAt && operation != Operation::LoadLine)) {
    settle(launch.transactions, own);
  }
  own.lookedFrom = from;
  own.lookedAt = address;
  countOne(own.waiting[place], bytes);
  own.waitingWords[place] += isWord(operation) ? 1 : 0;
}

void countEnd(Thread& thread) {
  Transactions& all = thread.block->launch->transactions;
  settle(all, thread.transactions);
  endRound(thread.transactions);
  all.rounds = std::max(all.rounds, thread.transactions.rounds);
}

}  // namespace jccl::emulator
