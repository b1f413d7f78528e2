// Counts the accesses of a launch to memory: how much crosses which path, and how often a thread waits for memory.
//
// An access counts once for each thread that makes it, although hardware may merge the accesses of a warp. Only
// accesses to global memory count.
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
    uint64_t words = 0;   // relaxed, acquire and release accesses among `loads` and `stores`
    uint64_t polled = 0;  // loads of polls that found nothing; not in `loads`
  };
  Traffic at[kPlaceCount];
  uint64_t fences = 0;
  uint64_t polls = 0;  // iterations of waiting loops
  // How often a thread waits for memory, polls excluded; the maximum of all threads. Loads without a store between them
  // are in flight together and count as one wait; an acquire load is a wait of its own.
  uint64_t rounds = 0;

  const Traffic& operator[](Place place) const { return at[static_cast<int>(place)]; }
  void add(const Transactions& other);
};

// The device that owns each region of memory. Launch number i of a machine runs on device i. Memory outside all regions
// is local.
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

// Counts of one thread.
struct ThreadTransactions {
  Accesses waiting[kPlaceCount];  // latest loads, which may turn out to be polls
  uint64_t waitingWords[kPlaceCount] = {};
  const void* lookedAt = nullptr;  // address of the latest load
  unsigned lookedFrom = 0;         // source line of the latest load
  uint64_t rounds = 0;
  bool loads = false;     // loads are in flight
  bool acquires = false;  // the latest load is an acquire
};

}  // namespace jccl::emulator
