#include "engine/core_sharing.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"

namespace jccl {
namespace {

// Number of pauses without another move after which a move counts as lasting.
constexpr int64_t kPausesOfALastingMove = 8;

}  // namespace

const CoreSharing::Pace CoreSharing::kOversubscribed{16, 5'000'000, 50'000'000, 10'000'000'000};
// With a core for each rank, ranks move soon: sharing a core with another program is better than sharing it with
// another rank. A move takes about 20 us.
const CoreSharing::Pace CoreSharing::kCoreForEach{1, 200'000, 5'000'000, 5'000'000};

int32_t betterCore(int rank, std::span<const int32_t> coreOfRank, std::span<const int32_t> allowed) {
  const auto ranksOn = [&](int32_t core) { return std::count(coreOfRank.begin(), coreOfRank.end(), core); };
  const int32_t own = coreOfRank[rank];
  const auto higher = coreOfRank.begin() + rank + 1;
  if (own == CpuPlacement::kUnknown || std::find(higher, coreOfRank.end(), own) != coreOfRank.end()) {
    return CpuPlacement::kUnknown;
  }
  int32_t best = CpuPlacement::kUnknown;
  auto fewest = ranksOn(own) - 1;
  for (const int32_t core : allowed) {
    const auto ranks = ranksOn(core);
    if (ranks < fewest) {
      best = core;
      fewest = ranks;
    }
  }
  return best;
}

std::vector<int32_t> allowedCores() {
  std::vector<int32_t> cores;
  cpu_set_t mask;
  // fails if there are more processors than bits in the mask
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cores.push_back(cpu + 1);
  }
  return cores;
}

bool moveToCore(int32_t core) {
  cpu_set_t before, there;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return false;
  CPU_ZERO(&there);
  CPU_SET(core - 1, &there);
  if (sched_setaffinity(0, sizeof there, &there) != 0) return false;
  const bool arrived = sched_getcpu() + 1 == core;
  sched_setaffinity(0, sizeof before, &before);
  return arrived;
}

CoreSharing::CoreSharing(int rank, int size, int localRanks, int cores, bool spreads)
    : rank_(rank),
      fairShare_((localRanks + cores - 1) / std::max(1, cores)),
      pace_(localRanks > cores ? kOversubscribed : kCoreForEach),
      spreads_(spreads),
      peers_(size, nullptr),
      coreOfRank_(size, CpuPlacement::kUnknown) {}

int32_t CoreSharing::begin() {
  core_ = own_->publish();
  if (spreads_ && ++operations_ % pace_.operationsPerCheck == 0) {
    if (isShareExceeded()) {
      spread(monotonicNanos());
    } else {
      exceededSince_ = 0;
    }
  }
  return core_;
}

bool CoreSharing::isShareExceeded() const {
  int here = 1;
  for (const CpuPlacement* peer : peers_) {
    if (peer != nullptr && peer->core.load(std::memory_order_relaxed) == core_) ++here;
  }
  return here > fairShare_;
}

void CoreSharing::spread(int64_t now) {
  if (exceededSince_ == 0) exceededSince_ = now;
  if (now - exceededSince_ < pace_.minExceededNanos || now - movedAt_ < pauseNanos_) return;
  exceededSince_ = 0;
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    if (peers_[peer] != nullptr) coreOfRank_[peer] = peers_[peer]->core.load(std::memory_order_relaxed);
  }
  coreOfRank_[rank_] = core_;
  // Starts the search at the next core: cores with close numbers are usually close in the hardware.
  std::vector<int32_t> allowed = allowedCores();
  std::rotate(allowed.begin(), std::upper_bound(allowed.begin(), allowed.end(), core_), allowed.end());
  const int32_t better = betterCore(rank_, coreOfRank_, allowed);
  if (better == CpuPlacement::kUnknown) return;
  const bool lasted = now - movedAt_ >= kPausesOfALastingMove * pauseNanos_;
  pauseNanos_ = lasted ? pace_.firstPauseNanos : std::min(2 * pauseNanos_, pace_.lastPauseNanos);
  movedAt_ = now;
  if (!moveToCore(better)) return;
  ++moves_;
  core_ = own_->publish();
}

}  // namespace jccl
