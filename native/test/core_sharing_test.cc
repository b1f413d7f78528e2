// Tests of core sharing, for ranks that outnumber the cores: which rank moves to which core, and that the affinity of
// the rank's thread is the same after the move.
#include "engine/core_sharing.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>

namespace jccl::core_sharing_test {
namespace {

constexpr int32_t kStay = CpuPlacement::kUnknown;

using Cores = std::vector<int32_t>;

TEST(BetterCore, TheHighestRankLeavesACoreThatHasTwoMoreThanAnother) {
  const Cores both{1, 2};
  EXPECT_EQ(betterCore(3, Cores{1, 2, 1, 1}, both), 2);
  EXPECT_EQ(betterCore(2, Cores{1, 2, 1, 1}, both), kStay) << "rank 3 shares its core and leaves";
  EXPECT_EQ(betterCore(1, Cores{1, 2, 1, 1}, both), kStay) << "its core has the fewest";
  EXPECT_EQ(betterCore(3, Cores{1, 2, 1, 2}, both), kStay) << "even";
  EXPECT_EQ(betterCore(4, Cores{1, 2, 1, 2, 1}, both), kStay) << "as even as five can be";
}

TEST(BetterCore, NoRankMovesToACoreThatItMayNotUse) {
  EXPECT_EQ(betterCore(3, Cores{1, 1, 1, 1}, Cores{1}), kStay);
  EXPECT_EQ(betterCore(3, Cores{1, 1, 1, 1}, Cores{1, 7}), 7);
  EXPECT_EQ(betterCore(3, Cores{1, 1, 1, 1}, Cores{}), kStay);
}

TEST(BetterCore, TheEmptiestCoreIsTaken) {
  EXPECT_EQ(betterCore(5, Cores{1, 1, 2, 1, 1, 1}, Cores{1, 2, 3}), 3);
  EXPECT_EQ(betterCore(5, Cores{1, 1, 2, 3, 1, 1}, Cores{1, 2, 3}), 2) << "the first of several";
}

TEST(BetterCore, RanksOnUnknownCoresAreNotCounted) {
  EXPECT_EQ(betterCore(0, Cores{kStay, 1, 1, 1}, Cores{1, 2}), kStay);
  EXPECT_EQ(betterCore(3, Cores{kStay, kStay, kStay, 1}, Cores{1, 2}), kStay);
}

TEST(BetterCore, AnyPlacementBecomesEvenInAtMostAsManyMovesAsRanks) {
  std::mt19937 random(20261122);
  for (int run = 0; run < 2000; ++run) {
    const int cores = 1 + static_cast<int>(random() % 8);
    const int ranks = 1 + static_cast<int>(random() % 24);
    Cores allowed, placed;
    for (int core = 1; core <= cores; ++core) allowed.push_back(core);
    for (int rank = 0; rank < ranks; ++rank) placed.push_back(1 + static_cast<int>(random() % cores));
    int moves = 0;
    for (int still = 0; still < ranks; ++still) {
      const int rank = still;
      const int32_t better = betterCore(rank, placed, allowed);
      if (better == kStay) continue;
      placed[rank] = better;
      ASSERT_LE(++moves, ranks);
      still = -1;
    }
    const auto [fewest, max] = std::minmax_element(allowed.begin(), allowed.end(), [&](int32_t a, int32_t b) {
      return std::count(placed.begin(), placed.end(), a) < std::count(placed.begin(), placed.end(), b);
    });
    EXPECT_LE(std::count(placed.begin(), placed.end(), *max) - std::count(placed.begin(), placed.end(), *fewest), 1);
  }
}

cpu_set_t affinity() {
  cpu_set_t mask;
  EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  return mask;
}

TEST(MoveToCore, LeavesTheThreadsAffinityUnchanged) {
  const cpu_set_t before = affinity();
  for (const int32_t core : allowedCores()) {
    EXPECT_TRUE(moveToCore(core));
    const cpu_set_t after = affinity();
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "core=" << core;
  }
}

TEST(MoveToCore, RefusesACoreThatDoesNotExist) {
  const cpu_set_t before = affinity();
  EXPECT_FALSE(moveToCore(CPU_SETSIZE));
  const cpu_set_t after = affinity();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(CoreSharing, ARankMovesFromACoreWithTooManyRanksToOneWithFewer) {
  const std::vector<int32_t> cores = allowedCores();
  if (cores.size() < 2) GTEST_SKIP() << "one core only";
  std::thread([&cores] {  // a thread of its own, so that its affinity affects no other test
    CpuPlacement own{};
    std::array<CpuPlacement, 3> peers{};
    peers[0].core = cores[0];
    peers[1].core = cores[0];
    peers[2].core = cores[1];
    CoreSharing sharing(3, 4, 4, 2, true);
    sharing.setOwn(own);
    for (int peer = 0; peer < 3; ++peer) sharing.addPeer(peer, peers[peer]);
    ASSERT_TRUE(moveToCore(cores[0]));
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (sharing.begin() == cores[0]) ASSERT_LT(std::chrono::steady_clock::now(), limit);
    EXPECT_NE(own.core, cores[0]);
  })
      .join();
}

}  // namespace
}  // namespace jccl::core_sharing_test
