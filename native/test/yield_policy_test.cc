// Tests of when ranks stop yielding, when they try again, and that sleeping instead loses no notification.
#include "primitives/yield_policy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "base/event_count.h"
#include "engine/core_sharing.h"
#include "rank_threads.h"

namespace jccl::yield_policy_test {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kShort = 1'000;
constexpr int64_t kExpensive = 4 * kMillisecond;

// Returns the time in ns for which yielding is avoided after `now`.
int64_t avoidedFor(YieldPolicy& yielding, int64_t now) {
  int64_t nanos = 0;
  while (!yielding.triesAgain(now + nanos)) nanos += kMillisecond;
  return nanos;
}

TEST(YieldPolicy, ShortYieldsAreNeverAvoided) {
  YieldPolicy yielding;
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(yielding.took(kShort, i));
  EXPECT_FALSE(yielding.isAvoided());
}

TEST(YieldPolicy, OneExpensiveYieldIsAvoidedForAsLongAsItTook) {
  YieldPolicy yielding;
  EXPECT_TRUE(yielding.took(kExpensive, kSecond));
  EXPECT_TRUE(yielding.isAvoided());
  EXPECT_EQ(avoidedFor(yielding, kSecond), kExpensive);
  EXPECT_FALSE(yielding.isAvoided());
}

TEST(YieldPolicy, ExpensiveMeasurementsAreRepeatedEverMoreSeldomUpToASecond) {
  YieldPolicy yielding;
  int64_t now = kSecond, last = 0;
  for (int i = 0; i < 10; ++i) {
    yielding.took(kExpensive, now);
    const int64_t nanos = avoidedFor(yielding, now);
    EXPECT_LE(nanos, kSecond);
    if (last < kSecond) {
      EXPECT_GT(nanos, last);
    }
    last = nanos;
    now += nanos;
  }
  EXPECT_EQ(last, kSecond);
}

TEST(YieldPolicy, AfterGoodMeasurementsAnExpensiveYieldCountsAsTheFirst) {
  YieldPolicy yielding;
  yielding.took(kExpensive, kSecond);
  const int64_t first = avoidedFor(yielding, kSecond);
  yielding.took(kExpensive, 2 * kSecond);
  EXPECT_GT(avoidedFor(yielding, 2 * kSecond), first);
  for (int i = 0; i < 100; ++i) yielding.took(kShort, 4 * kSecond);
  yielding.took(kExpensive, 5 * kSecond);
  EXPECT_EQ(avoidedFor(yielding, 5 * kSecond), first);
}

TEST(EventCount, ARegisteredWaiterIsNotifiedByEveryPublisherAndMissesNothing) {
  EventCount question{};
  EventCount answer{};
  std::atomic<uint32_t> asked{0}, answered{0};
  constexpr uint32_t kRounds = 2000;
  struct Condition {
    std::atomic<uint32_t>& word;
    uint32_t value;
  };
  const auto isThere = [](void* raw) {
    auto* condition = static_cast<Condition*>(raw);
    return condition->word.load(std::memory_order_acquire) == condition->value;
  };
  const auto await = [&](EventCount& own, std::atomic<uint32_t>& word, uint32_t value) {
    Condition condition{word, value};
    const int64_t start = monotonicNanos();
    while (!isThere(&condition)) own.sleepAsWaiter(20 * kSecond, isThere, &condition);
    return monotonicNanos() - start < 10 * kSecond;  // a missed notification would cost the whole sleep
  };
  question.addWaiter();
  answer.addWaiter();
  std::thread other([&] {
    for (uint32_t i = 1; i <= kRounds; ++i) {
      EXPECT_TRUE(await(question, asked, i));
      answered.store(i, std::memory_order_release);
      answer.notifyIfWaiting();
    }
  });
  for (uint32_t i = 1; i <= kRounds; ++i) {
    asked.store(i, std::memory_order_release);
    question.notifyIfWaiting();
    EXPECT_TRUE(await(answer, answered, i));
  }
  other.join();
  question.removeWaiter();
  answer.removeWaiter();
  EXPECT_EQ(question.waiters, 0u);
  EXPECT_EQ(answer.waiters, 0u);
}

// Returns true if YieldPolicy counts yields on this core as expensive. Call this while another thread occupies the core
// and never yields it. Yields stay cheap on kernels with short time slices, which return the core sooner.
bool yieldsAreExpensive() {
  int expensive = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t start = monotonicNanos();
    YieldPolicy::yieldCore();
    const int64_t now = monotonicNanos();
    expensive += YieldPolicy().took(now - start, now) ? 1 : 0;
  }
  return expensive >= 5;
}

// Ranks share one core with a thread that never yields it. They must detect this, sleep instead of yielding, and try
// again from time to time.
TEST(YieldPolicy, RanksNextToABusyThreadGetTheirSums) {
  const std::vector<int32_t> cores = allowedCores();
  ASSERT_FALSE(cores.empty());
  const auto bind = [&] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cores.back() - 1, &mask);
    EXPECT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
  };
  std::atomic<bool> over{false};
  std::thread busy([&] {
    bind();
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  bool expensive = false;
  std::thread([&] {
    bind();
    expensive = yieldsAreExpensive();
  }).join();
  const int ranks = 3;
  std::atomic<int> listened{0};
  test::RankThreads threads(ranks, 1, [](EngineConfig& config) { config.cores = 1; });
  threads.run([&](Engine& communicator) {
    bind();
    const Choice choice = test::choiceOf(Algorithm::Direct, Protocol::LL);
    bool heard = false;
    for (int i = 0; i < 3000; ++i) {
      float send = static_cast<float>(i + communicator.rank());
      float recv = -1;
      const Code code = communicator.run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum}, choice,
                                         reinterpret_cast<uint64_t>(&send), reinterpret_cast<uint64_t>(&recv), 1, 0,
                                         test::kTimeoutNanos);
      ASSERT_EQ(code, Code::Ok) << communicator.lastError();
      ASSERT_EQ(recv, static_cast<float>(3 * i + 3));
      heard = heard || communicator.events()->waiters.load(std::memory_order_relaxed) != 0;
    }
    if (heard) ++listened;
  });
  over.store(true);
  busy.join();
  if (!expensive)
    GTEST_SKIP() << "the sums are right; yields next to a busy thread are short here, so ranks had nothing to notice";
  EXPECT_GT(listened, 0) << "no rank noticed that its yields are expensive";
}

}  // namespace
}  // namespace jccl::yield_policy_test
