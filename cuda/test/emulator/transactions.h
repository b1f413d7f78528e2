// What the threads of a launch do to memory, counted: how much crosses which path, and how often a thread waits for it.
//
// An access counts once for each thread that makes it, whatever the hardware merges of a warp. Counted are global memory's
// accesses only; shared memory's take no part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <vector>

namespace jccl::emulator {

enum class Operation : uint8_t;

// Where memory is, seen from the device of the thread that accesses it.
enum class Place : uint8_t { Local, Peer, Host };
constexpr int kPlaceCount = 3;

// Accesses of 1, 2, 4, 8 and 16 bytes.
struct Accesses {
  static constexpr int kWidths = 5;
  uint64_t byWidth[kWidths] = {};

  uint64_t count() const;
  uint64_t bytes() const;
  void add(const Accesses& other);
};

struct Transactions {
  struct Traffic {
    Accesses loads, stores;
    uint64_t words = 0;   // of them those that order others or are ordered: relaxed, acquire, release
    uint64_t polled = 0;  // loads that found nothing, not among `loads`
  };
  Traffic at[kPlaceCount];
  uint64_t fences = 0;
  uint64_t polls = 0;  // iterations of loops that wait
  // How often the thread that waits most for memory does, polls aside: loads up to the store behind them are in flight
  // together; one that acquires is alone.
  uint64_t rounds = 0;

  const Traffic& operator[](Place place) const { return at[static_cast<int>(place)]; }
  void add(const Transactions& other);
};

// Whose memory is where. The launch of a machine with the number i runs on device i. What is in no region is local.
struct MemoryPlaces {
  static constexpr int kHost = -1;
  struct Region {
    uintptr_t begin, end;
    int device;
  };
  std::vector<Region> regions;

  void add(const void* begin, size_t bytes, int device) {
    const auto address = reinterpret_cast<uintptr_t>(begin);
    regions.push_back({address, address + bytes, device});
  }
  Place placeOf(const void* address, int device) const;
};

// One thread's part: loads that may turn out to have been polls, and whether loads are in flight.
struct ThreadTransactions {
  Accesses waiting[kPlaceCount];
  uint64_t waitingWords[kPlaceCount] = {};
  const void* lookedAt = nullptr;
  unsigned lookedFrom = 0;  // the line in the source
  uint64_t rounds = 0;
  bool loads = false;
  bool acquires = false;  // they are one that acquires
};

}  // namespace jccl::emulator
