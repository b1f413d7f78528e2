#include "engine/core_sharing.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"

namespace jccl {
namespace {

constexpr uint32_t kOperationsPerCheck = 16;
// A share that is exceeded for so long counts as lasting.
constexpr int64_t kMinExceededNanos = 5'000'000;
// A move that does not last, because another program needs the core, is tried more and more seldom.
constexpr int64_t kFirstPauseNanos = 50'000'000;
constexpr int64_t kLastPauseNanos = 10'000'000'000;
constexpr int64_t kPausesUntilForgiven = 8;

}  // namespace

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
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;  // more processors than the mask has bits
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
      spreads_(spreads),
      peers_(size, nullptr),
      coreOfRank_(size, CpuPlacement::kUnknown) {}

int32_t CoreSharing::begin() {
  const int32_t core = sched_getcpu() + 1;
  if (core != core_) {
    core_ = core;
    own_->core.store(core, std::memory_order_relaxed);
  }
  if (spreads_ && ++operations_ % kOperationsPerCheck == 0) {
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
  if (now - exceededSince_ < kMinExceededNanos || now - movedAt_ < pauseNanos_) return;
  exceededSince_ = 0;
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    if (peers_[peer] != nullptr) coreOfRank_[peer] = peers_[peer]->core.load(std::memory_order_relaxed);
  }
  coreOfRank_[rank_] = core_;
  const int32_t better = betterCore(rank_, coreOfRank_, allowedCores());
  if (better == CpuPlacement::kUnknown) return;
  const bool lasted = now - movedAt_ >= kPausesUntilForgiven * pauseNanos_;
  pauseNanos_ = lasted ? kFirstPauseNanos : std::min(2 * pauseNanos_, kLastPauseNanos);
  movedAt_ = now;
  if (!moveToCore(better)) return;
  core_ = better;
  own_->core.store(better, std::memory_order_relaxed);
}

}  // namespace jccl
