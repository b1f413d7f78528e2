// Tracks which ranks share a core, and spreads the ranks evenly over the cores.
//
// Every rank publishes the core on which it runs (CpuPlacement): an oversubscribed rank when it begins an operation,
// others when a wait becomes long. A waiting rank yields at once if the awaited rank is on the same core, and polls a
// moment longer if it is on another core.
//
// The kernel does not spread ranks by itself: it takes a thread that waits by yielding for a busy thread with a warm
// cache. For seconds it leaves three of four ranks on one of two cores, so that every operation takes 1.5 times as
// long. Or it leaves both of two ranks on one core while another program runs on the second core; then small operations
// take ten times as long. So a rank that stays on a core with too many ranks moves itself to the core with the fewest.
// Only one rank of a core moves at a time. The rank keeps its affinity mask; a thread bound to one core stays there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cpu_placement.h"

namespace jccl {

// Returns the core to which `rank` should move, or kUnknown if it should stay. Cores are counted from 1; `coreOfRank`
// contains the current core of each rank. Only the highest rank on a core leaves that core. That rank moves to the
// first core in `allowed` that has the fewest ranks, if that core has at least two ranks fewer than its own.
int32_t betterCore(int rank, std::span<const int32_t> coreOfRank, std::span<const int32_t> allowed);

// Returns the cores that the calling thread may use, counted from 1. Empty if the kernel does not report them.
std::vector<int32_t> allowedCores();

// Moves the calling thread to a core, counted from 1, and restores its affinity mask. Returns true if the thread
// arrived on that core.
bool moveToCore(int32_t core);

class CoreSharing {
 public:
  CoreSharing(int rank, int size, int localRanks, int cores, bool spreads);

  void setOwn(CpuPlacement& own) { own_ = &own; }
  void addPeer(int peer, const CpuPlacement& placement) { peers_[peer] = &placement; }
  std::span<const CpuPlacement* const> peers() const { return peers_; }

  // Called when the calling thread begins an operation: publishes its core, and may move it to another one. Returns its
  // core, counted from 1.
  int32_t begin();

  // Returns how often this rank has moved.
  int moves() const { return moves_; }

 private:
  bool isShareExceeded() const;
  void spread(int64_t now);

  struct Pace {
    uint32_t operationsPerCheck;
    int64_t minExceededNanos;  // a rank moves only after its core has had too many ranks for this long
    // Time between moves. If a move does not last, because another program needs the core, the time doubles, from
    // firstPauseNanos up to lastPauseNanos.
    int64_t firstPauseNanos;
    int64_t lastPauseNanos;
  };
  static const Pace kOversubscribed;
  static const Pace kCoreForEach;

  int rank_;
  int fairShare_;  // number of ranks on each core, rounded up, if they are spread evenly
  const Pace& pace_;
  bool spreads_;
  CpuPlacement* own_ = nullptr;
  std::vector<const CpuPlacement*> peers_;  // placement of each rank; null for this rank and for ranks of other hosts
  int32_t core_ = CpuPlacement::kUnknown;
  uint32_t operations_ = 0;
  int64_t exceededSince_ = 0;  // monotonicNanos() at which the core got too many ranks; 0: it does not have too many
  int64_t pauseNanos_ = 0;     // least time between the last move and the next one
  int64_t movedAt_ = 0;        // monotonicNanos() of the last move
  int moves_ = 0;
  std::vector<int32_t> coreOfRank_;
};

}  // namespace jccl
