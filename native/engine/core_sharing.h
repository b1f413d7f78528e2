// Which ranks share a core, and that no core gets more of them than it must.
//
// Every rank publishes where it runs (CpuPlacement): oversubscribed ranks where they begin an operation, others when a wait
// becomes long. Waits use it: a rank on the same core gets the core at once, a rank elsewhere is polled a moment longer. And
// ranks spread by it: to the kernel, threads that wait by yielding are busy and warm in their cache. It leaves three of four
// ranks on one of two cores for seconds, where everything takes half as long again, and two of two on one beside another
// program, where small operations take ten times as long. So a rank that stays on a core with too many moves itself to the
// one with the fewest, one rank of a core at a time. It may run wherever it could before; a thread bound to one core stays
// there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cpu_placement.h"

namespace jccl {

// Where `rank` should go from the cores on which the ranks are, counted from 1, or kUnknown: nowhere. Only the highest rank
// of a core leaves it, for the first of the cores in `allowed` that have the fewest ranks, at least two fewer than its own.
int32_t betterCore(int rank, std::span<const int32_t> coreOfRank, std::span<const int32_t> allowed);

// The cores that the calling thread may use, counted from 1; none where the kernel does not say.
std::vector<int32_t> allowedCores();

// Moves the calling thread to a core, counted from 1, and leaves it the choice of cores that it had. Returns whether it
// is there.
bool moveToCore(int32_t core);

class CoreSharing {
 public:
  CoreSharing(int rank, int size, int localRanks, int cores, bool spreads);

  void setOwn(CpuPlacement& own) { own_ = &own; }
  void addPeer(int peer, const CpuPlacement& placement) { peers_[peer] = &placement; }
  std::span<const CpuPlacement* const> peers() const { return peers_; }

  // The calling thread begins an operation. Returns its core, counted from 1.
  int32_t begin();

  // How often this rank has moved.
  int moves() const { return moves_; }

 private:
  bool isShareExceeded() const;
  void spread(int64_t now);

  struct Pace {
    uint32_t operationsPerCheck;
    int64_t minExceededNanos;  // a share that is exceeded for so long counts as lasting
    // A move that does not last, because another program needs the core, is tried more and more seldom.
    int64_t firstPauseNanos;
    int64_t lastPauseNanos;
  };
  static const Pace kOversubscribed;
  static const Pace kCoreForEach;

  int rank_;
  int fairShare_;  // how many ranks a core has to run
  const Pace& pace_;
  bool spreads_;
  CpuPlacement* own_ = nullptr;
  std::vector<const CpuPlacement*> peers_;  // by rank; null: not on this host, or this rank
  int32_t core_ = CpuPlacement::kUnknown;
  uint32_t operations_ = 0;
  int64_t exceededSince_ = 0;  // nanoseconds; 0: it is not
  int64_t pauseNanos_ = 0;     // after the last move
  int64_t movedAt_ = 0;
  int moves_ = 0;
  std::vector<int32_t> coreOfRank_;
};

}  // namespace jccl
