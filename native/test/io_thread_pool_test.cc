// Tests of IoThreadPool: every task runs once, on any free thread, and none runs after its round.
#include "base/io_thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace jccl::io_thread_pool_test {
namespace {

constexpr int64_t kLimitNanos = 20'000'000'000;

std::unique_ptr<IoThreadPool> poolOf(int helpers) { return IoThreadPool::create("pool-test", helpers); }

TEST(IoThreadPool, DoesEveryTaskOnceAndSeesItsResult) {
  const auto pool = poolOf(3);
  for (int round = 0; round < 20'000; ++round) {
    const int count = round % 7;
    std::array<int, 7> done{};  // not atomic: run() orders the tasks' stores
    pool->run(count, [&](int i) { done[static_cast<size_t>(i)] += round + 1; });
    for (int i = 0; i < 7; ++i) ASSERT_EQ(i < count ? round + 1 : 0, done[static_cast<size_t>(i)]) << round;
  }
}

TEST(IoThreadPool, WithoutHelpersTheCallerDoesAll) {
  const auto pool = poolOf(0);
  std::vector<std::thread::id> by;
  pool->run(5, [&](int) { by.push_back(std::this_thread::get_id()); });
  EXPECT_EQ(std::vector<std::thread::id>(5, std::this_thread::get_id()), by);
}

TEST(IoThreadPool, TasksRunAtTheSameTime) {
  const auto pool = poolOf(2);
  std::atomic<int> begun{0};
  std::array<std::thread::id, 3> by;
  pool->run(3, [&](int i) {
    by[static_cast<size_t>(i)] = std::this_thread::get_id();
    ++begun;
    const int64_t end = monotonicNanos() + kLimitNanos;
    while (begun.load() < 3 && monotonicNanos() < end) std::this_thread::yield();
  });
  EXPECT_EQ(3, begun.load());
  EXPECT_EQ(3u, std::set<std::thread::id>(by.begin(), by.end()).size());
}

TEST(IoThreadPool, ThrowsWhatATaskThrowsAfterAllTasksHaveEnded) {
  const auto pool = poolOf(2);
  for (int round = 0; round < 1000; ++round) {
    std::array<int, 6> done{};
    EXPECT_THROW(pool->run(6,
                           [&](int i) {
                             done[static_cast<size_t>(i)] = 1;
                             if (i % 2 == round % 2) throw std::bad_alloc();
                           }),
                 std::bad_alloc);
    for (const int one : done) ASSERT_EQ(1, one) << round;
    pool->run(6, [&](int i) { done[static_cast<size_t>(i)] = 2; });  // the pool still works
    for (const int one : done) ASSERT_EQ(2, one) << round;
  }
}

// Sleeping helpers are woken. Helpers that wake too late must leave the tasks of the next round alone.
TEST(IoThreadPool, WakesSleepingHelpers) {
  const auto pool = poolOf(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    pool->run(4, [&](int) { ++done; });
    ASSERT_EQ(4, done.load());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(IoThreadPool, EndsWhileItSleepsAndRightAfterItsWork) {
  for (int round = 0; round < 200; ++round) {
    const auto pool = poolOf(2);
    if (round % 2 == 0) pool->run(3, [](int) {});
  }
}

}  // namespace
}  // namespace jccl::io_thread_pool_test
