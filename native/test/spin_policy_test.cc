// Tests of the phases of waiting, with invented times, and of real ranks that wait.
#include "primitives/spin_policy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/core_sharing.h"
#include "rank_threads.h"

namespace jccl::spin_policy_test {
namespace {

using Phase = WaitPhases::Phase;

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSpin = 100 * kMicrosecond;
constexpr int64_t kYield = 4 * kMillisecond;
constexpr int64_t kSpinRound = kMicrosecond;
constexpr int64_t kShortYield = kMicrosecond / 2;
constexpr int64_t kSlice = 3 * kMillisecond;

// Passes through a phase in rounds of equal length. Returns the phase's duration in ns.
int64_t passThrough(WaitPhases& wait, Phase phase, int64_t round) {
  int64_t nanos = 0;
  for (; wait.next(false) == phase; nanos += round) wait.took(phase, round);
  return nanos;
}

TEST(WaitPhases, SpinsThenYieldsThenSleeps) {
  WaitPhases wait(kSpin, kYield);
  EXPECT_EQ(passThrough(wait, Phase::Spin, kSpinRound), kSpin);
  EXPECT_EQ(passThrough(wait, Phase::Yield, kShortYield), kYield - kSpin);
  EXPECT_EQ(wait.next(false), Phase::Sleep);
}

TEST(WaitPhases, AThreadThatWasOffItsCoreContinuesSpinning) {
  WaitPhases wait(kSpin, kYield);
  wait.took(Phase::Spin, kSpinRound);
  wait.took(Phase::Spin, 5 * kMillisecond);  // another program had the core; the peer may still be fast
  EXPECT_EQ(wait.next(false), Phase::Spin);
  EXPECT_GT(passThrough(wait, Phase::Spin, kSpinRound), kSpin / 2);
}

TEST(WaitPhases, InterruptionsWithoutEndDoNotKeepAWaitFromSleeping) {
  WaitPhases wait(kSpin, kYield);
  int rounds = 0;
  for (; wait.next(false) == Phase::Spin; ++rounds) wait.took(Phase::Spin, 5 * kMillisecond);
  EXPECT_LE(rounds, 10);
}

TEST(WaitPhases, OneLongYieldIsNotRepeatedInThisWait) {
  WaitPhases wait(kSpin, kYield);
  passThrough(wait, Phase::Spin, kSpinRound);
  wait.took(Phase::Yield, kSlice);
  EXPECT_EQ(wait.next(false), Phase::Yield) << "a slice may be all that the other program needed";
  wait.took(Phase::Yield, kSlice);
  EXPECT_EQ(wait.next(false), Phase::Sleep) << "the kernel runs a woken thread first";
  EXPECT_EQ(WaitPhases(kSpin, kYield).next(false), Phase::Spin) << "the next wait is judged by itself";
}

TEST(WaitPhases, DataThatMovesStartsThePhasesAgain) {
  WaitPhases wait(kSpin, kYield);
  wait.took(Phase::Yield, kYield);
  ASSERT_EQ(wait.next(false), Phase::Sleep);
  wait.restart();
  EXPECT_EQ(passThrough(wait, Phase::Spin, kSpinRound), kSpin);
}

TEST(WaitPhases, ARankOnTheSameCoreGetsTheCoreAtOnce) {
  WaitPhases wait(kSpin, kYield);
  EXPECT_EQ(wait.next(true), Phase::Yield);
  wait.took(Phase::Yield, kShortYield);
  EXPECT_EQ(wait.next(true), Phase::Yield);
  EXPECT_EQ(wait.next(false), Phase::Spin) << "one of the two has moved";
}

TEST(WaitPhases, OnlyAShortYieldAfterAllSpinsShowsThatSpinsWereInVain) {
  constexpr int64_t kMin = 3 * kMicrosecond, kMax = 800 * kMicrosecond;
  WaitPhases wait(kSpin, kYield);
  wait.took(Phase::Yield, 5 * kMicrosecond);
  EXPECT_FALSE(wait.neededYield(kMin, kMax)) << "there were no spins";
  passThrough(wait, Phase::Spin, kSpinRound);
  EXPECT_FALSE(wait.neededYield(kMin, kMax));
  wait.took(Phase::Yield, 5 * kMicrosecond);
  EXPECT_TRUE(wait.neededYield(kMin, kMax)) << "the peer ran, and yielded in its turn";
  wait.took(Phase::Yield, kShortYield);
  EXPECT_FALSE(wait.neededYield(kMin, kMax)) << "nobody was there to run";
  wait.took(Phase::Yield, kSlice);
  EXPECT_FALSE(wait.neededYield(kMin, kMax)) << "another program ran, for a slice";
}

TEST(SpinPolicy, OversubscribedRanksYieldAtOnceAndSleepSoon) {
  const SpinPolicy policy = SpinPolicy::of(8, 2, -1);
  EXPECT_TRUE(policy.oversubscribed);
  EXPECT_LT(policy.polls, 10);
  EXPECT_GT(policy.firstYields, 0);
  WaitPhases wait(policy.spinNanos, policy.yieldNanos);
  EXPECT_EQ(wait.next(false), Phase::Yield);
  EXPECT_LE(passThrough(wait, Phase::Yield, kShortYield), kMillisecond);
}

TEST(SpinPolicy, RanksWithACoreForEachOutlastASliceOfAnotherProgram) {
  const SpinPolicy policy = SpinPolicy::of(2, 2, -1);
  EXPECT_FALSE(policy.oversubscribed);
  EXPECT_EQ(policy.firstYields, 0);
  EXPECT_GT(policy.yieldNanos, kSlice);
}

TEST(SpinPolicy, ARankCompetesOnlyWithRanksThatShareItsCores) {
  EngineConfig config;
  config.localRanks = 4;
  config.cores = 3;
  EXPECT_TRUE(SpinPolicy::of(config.sharing(), config.shared(), -1).oversubscribed);
  config.sharingRanks = 1;  // two of four ranks are bound to one core, the others to a core each
  config.sharedCores = 1;
  EXPECT_FALSE(SpinPolicy::of(config.sharing(), config.shared(), -1).oversubscribed);
  EXPECT_FALSE(Engine::segmentShape(config).rotates) << "equal on all ranks of the host";
}

TEST(SpinPolicy, ASettingOfSpinsIsUsedUnchanged) {
  EXPECT_EQ(SpinPolicy::of(2, 2, 5 * kMillisecond).spinNanos, 5 * kMillisecond);
  EXPECT_EQ(SpinPolicy::of(8, 2, 5 * kMillisecond).spinNanos, 5 * kMillisecond);
  EXPECT_EQ(SpinPolicy::of(8, 2, 5 * kMillisecond).firstYields, 0);
}

void bindTo(int32_t core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core - 1, &mask);
  EXPECT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
}

Code sum(Engine& communicator, int i) {
  float send = static_cast<float>(i + communicator.rank());
  float recv = -1;
  const Code code = communicator.run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                                     test::choiceOf(Algorithm::Direct, Protocol::LL), reinterpret_cast<uint64_t>(&send),
                                     reinterpret_cast<uint64_t>(&recv), 1, 0, test::kTimeoutNanos);
  EXPECT_EQ(recv, static_cast<float>(2 * i + 1)) << communicator.lastError();
  return code;
}

// A publisher makes a system call whenever a waiter is registered. So a rank with a core of its own must not stay
// registered, no matter how long another program had that core.
TEST(Waiter, RanksWithACoreForEachAreNotRegisteredAfterALongYield) {
  const std::vector<int32_t> cores = allowedCores();
  ASSERT_FALSE(cores.empty());
  std::atomic<bool> over{false};
  std::thread busy([&] {
    bindTo(cores.back());
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  test::RankThreads threads(2, 1, [](EngineConfig& config) { config.cores = 2; });
  threads.run([&](Engine& communicator) {
    bindTo(cores.back());
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(sum(communicator, i), Code::Ok);
      ASSERT_EQ(communicator.events()->waiters.load(std::memory_order_relaxed), 0u) << "operation " << i;
    }
  });
  over.store(true);
  busy.join();
}

// Ranks move without oversubscription, too. The kernel also separates two ranks that yield to each other, sooner or
// later. So the test puts them on one core again until one has moved by itself.
TEST(Waiter, OneOfTwoRanksOnOneCoreMovesToAnotherCore) {
  const std::vector<int32_t> cores = allowedCores();
  if (cores.size() < 2) GTEST_SKIP() << "one core only";
  test::RankThreads threads(2, 1, [](EngineConfig& config) { config.cores = 2; });
  std::atomic<int> last{-1};
  threads.run([&](Engine& communicator) {
    const bool stays = communicator.rank() == 0;
    if (stays) bindTo(cores[0]);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int i = 0; last < 0 || i <= last; ++i) {
      if (!stays && last < 0 && sched_getcpu() + 1 != cores[0]) moveToCore(cores[0]);
      ASSERT_EQ(sum(communicator, i), Code::Ok);
      const bool over = communicator.coreSharing().moves() > 0 || std::chrono::steady_clock::now() > limit;
      if (!stays && last < 0 && over) last = i + 2;  // rank 0 sees `last` after the next operation, at the latest
    }
  });
  EXPECT_EQ(threads[0].coreSharing().moves(), 0);
  EXPECT_GT(threads[1].coreSharing().moves(), 0);
}

}  // namespace
}  // namespace jccl::spin_policy_test
