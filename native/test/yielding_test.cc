// When ranks stop handing over their core by yielding, when they try again, and that sleeping instead loses nothing.
#include "primitives/yielding.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "base/doorbell.h"
#include "engine/core_sharing.h"
#include "rank_threads.h"

namespace jccl {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kShort = 1'000;
constexpr int64_t kDear = 4 * kMillisecond;

// How long yielding is avoided after what happened at `now`.
int64_t avoidedFor(Yielding& yielding, int64_t now) {
  int64_t nanos = 0;
  while (!yielding.triesAgain(now + nanos)) nanos += kMillisecond;
  return nanos;
}

TEST(Yielding, ShortYieldsAreNeverAvoided) {
  Yielding yielding;
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(yielding.took(kShort, i));
  EXPECT_FALSE(yielding.isAvoided());
}

TEST(Yielding, OneDearYieldIsAvoidedForAsLongAsItTook) {
  Yielding yielding;
  EXPECT_TRUE(yielding.took(kDear, kSecond));
  EXPECT_TRUE(yielding.isAvoided());
  EXPECT_EQ(avoidedFor(yielding, kSecond), kDear);
  EXPECT_FALSE(yielding.isAvoided());
}

TEST(Yielding, TrialsThatFailAreMadeMoreAndMoreSeldomUpToASecond) {
  Yielding yielding;
  int64_t now = kSecond, last = 0;
  for (int i = 0; i < 10; ++i) {
    yielding.took(kDear, now);
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

TEST(Yielding, AfterTrialsThatWentWellADearYieldCountsAsTheFirst) {
  Yielding yielding;
  yielding.took(kDear, kSecond);
  const int64_t first = avoidedFor(yielding, kSecond);
  yielding.took(kDear, 2 * kSecond);
  EXPECT_GT(avoidedFor(yielding, 2 * kSecond), first);
  for (int i = 0; i < 100; ++i) yielding.took(kShort, 4 * kSecond);
  yielding.took(kDear, 5 * kSecond);
  EXPECT_EQ(avoidedFor(yielding, 5 * kSecond), first);
}

TEST(Doorbell, WhoListensIsRungByEveryPublisherAndMissesNothing) {
  Doorbell bell{};
  Doorbell answer{};
  std::atomic<uint32_t> asked{0}, answered{0};
  constexpr uint32_t kRounds = 2000;
  struct Wanted {
    std::atomic<uint32_t>& word;
    uint32_t value;
  };
  const auto isThere = [](void* raw) {
    auto* wanted = static_cast<Wanted*>(raw);
    return wanted->word.load(std::memory_order_acquire) == wanted->value;
  };
  const auto await = [&](Doorbell& own, std::atomic<uint32_t>& word, uint32_t value) {
    Wanted wanted{word, value};
    const int64_t start = monotonicNanos();
    while (!isThere(&wanted)) own.napListening(20 * kSecond, isThere, &wanted);
    return monotonicNanos() - start < 10 * kSecond;  // a ring that was missed would cost the whole nap
  };
  bell.listen();
  answer.listen();
  std::thread other([&] {
    for (uint32_t i = 1; i <= kRounds; ++i) {
      EXPECT_TRUE(await(bell, asked, i));
      answered.store(i, std::memory_order_release);
      answer.ringIfSleeping();
    }
  });
  for (uint32_t i = 1; i <= kRounds; ++i) {
    asked.store(i, std::memory_order_release);
    bell.ringIfSleeping();
    EXPECT_TRUE(await(answer, answered, i));
  }
  other.join();
  bell.endListening();
  answer.endListening();
  EXPECT_EQ(bell.sleeping, 0u);
  EXPECT_EQ(answer.sleeping, 0u);
}

// Whether yields on this core, beside a thread that never lets go of it, take what a rank calls dear. Kernels whose slices
// are short give it back sooner.
bool yieldsAreDear() {
  int dear = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t start = monotonicNanos();
    Yielding::giveWay();
    const int64_t now = monotonicNanos();
    dear += Yielding().took(now - start, now) ? 1 : 0;
  }
  return dear >= 5;
}

// Ranks on one core, together with a thread that never lets go of it: they find out, sleep instead of yielding, and try
// again several times on the way.
TEST(Yielding, RanksBesideABusyThreadGetTheirSums) {
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
  bool dear = false;
  std::thread([&] {
    bind();
    dear = yieldsAreDear();
  }).join();
  const int ranks = 3;
  std::atomic<int> listened{0};
  test::RankThreads threads(ranks, 1, [](CommunicatorConfig& config) { config.cores = 1; });
  threads.run([&](Communicator& communicator) {
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
      heard = heard || communicator.bell()->sleeping.load(std::memory_order_relaxed) != 0;
    }
    if (heard) ++listened;
  });
  over.store(true);
  busy.join();
  if (!dear) GTEST_SKIP() << "the sums are right; yields beside a busy thread are short here, so nothing was to notice";
  EXPECT_GT(listened, 0) << "no rank noticed that its yields are dear";
}

}  // namespace
}  // namespace jccl
