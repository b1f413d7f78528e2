// Crew: every task once, by whoever is free, and nothing afterwards.
#include "base/crew.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace jccl {
namespace {

constexpr int64_t kLimitNanos = 20'000'000'000;

std::unique_ptr<Crew> crewOf(int helpers) {
  std::unique_ptr<Crew> crew;
  const Status created = Crew::create("crew-test", helpers, &crew);
  EXPECT_TRUE(created.isOk()) << created.message();
  return crew;
}

TEST(Crew, DoesEveryTaskOnceAndSeesItsResult) {
  const auto crew = crewOf(3);
  for (int round = 0; round < 20'000; ++round) {
    const int count = round % 7;
    std::array<int, 7> done{};  // plain: run() orders what the tasks write
    crew->run(count, [&](int i) { done[static_cast<size_t>(i)] += round + 1; });
    for (int i = 0; i < 7; ++i) ASSERT_EQ(i < count ? round + 1 : 0, done[static_cast<size_t>(i)]) << round;
  }
}

TEST(Crew, WithoutHelpersTheCallerDoesAll) {
  const auto crew = crewOf(0);
  std::vector<std::thread::id> by;
  crew->run(5, [&](int) { by.push_back(std::this_thread::get_id()); });
  EXPECT_EQ(std::vector<std::thread::id>(5, std::this_thread::get_id()), by);
}

TEST(Crew, TasksRunAtTheSameTime) {
  const auto crew = crewOf(2);
  std::atomic<int> begun{0};
  std::array<std::thread::id, 3> by;
  crew->run(3, [&](int i) {
    by[static_cast<size_t>(i)] = std::this_thread::get_id();
    ++begun;
    const int64_t end = monotonicNanos() + kLimitNanos;
    while (begun.load() < 3 && monotonicNanos() < end) std::this_thread::yield();
  });
  EXPECT_EQ(3, begun.load());
  EXPECT_EQ(3u, std::set<std::thread::id>(by.begin(), by.end()).size());
}

// Helpers that sleep are woken, and those that wake too late leave the next round's tasks alone.
TEST(Crew, ComesBackFromSleep) {
  const auto crew = crewOf(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    crew->run(4, [&](int) { ++done; });
    ASSERT_EQ(4, done.load());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Crew, EndsWhileItSleepsAndRightAfterItsWork) {
  for (int round = 0; round < 200; ++round) {
    const auto crew = crewOf(2);
    if (round % 2 == 0) crew->run(3, [](int) {});
  }
}

}  // namespace
}  // namespace jccl
