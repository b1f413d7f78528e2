// Tests of what ends the sleeps of a rank that has peers on its own host and on others.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "primitives/wait.h"

namespace jccl::wait_sleep_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr WaitPlace kOnThisHost{1, TransportKind::Shm, WaitFor::Data, Protocol::Simple, 0};
constexpr WaitPlace kOnAnotherHost{1, TransportKind::Socket, WaitFor::Data, Protocol::Simple, 0};

// Notes how long callers want to sleep on its events, and returns at once.
class NotingNetwork final : public ProgressEngine {
 public:
  int poll() override { return 0; }
  void waitForEvents(int64_t nanos) override {
    longest = std::max(longest, nanos);
    ++sleeps;
  }
  void kick() override { ++kicks; }

  int64_t longest = 0;
  int sleeps = 0;
  int kicks = 0;
};

// A rank that sleeps at once.
struct Rank {
  Rank() {
    control.events = &events;
    control.progress = &network;
    control.timeoutNanos = 20 * kSecond;
    control.policy = {.oversubscribed = true, .polls = 1, .firstYields = 0, .spinNanos = 0, .yieldNanos = 0};
    waiter.emplace(control, record, true);
  }

  EventCount events{};
  NotingNetwork network;
  WaitControl control;
  ProgressRecord record;
  std::optional<Waiter> waiter;  // made last, because it reads the policy
};

// Waits until the condition has been evaluated `evaluations` times.
int64_t waitFor(Rank& rank, const WaitPlace& place, int evaluations) {
  int count = 0;
  const int64_t start = monotonicNanos();
  EXPECT_TRUE(rank.waiter->wait([&] { return ++count >= evaluations; }, place));
  return monotonicNanos() - start;
}

TEST(WaitSleep, APeerOnThisHostEndsASleepByANotification) {
  EventCount::registerPublisher();
  Rank rank;
  std::atomic<bool> published = false;
  std::thread peer([&] {
    while (rank.events.waiters.load() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    published = true;
    rank.events.notifyIfWaiting();
  });
  EXPECT_TRUE(rank.waiter->wait([&] { return published.load(); }, kOnThisHost));
  peer.join();
  EXPECT_EQ(rank.network.sleeps, 0) << "network events do not report what a peer on this host does";
  EXPECT_GT(rank.network.kicks, 0) << "the network must continue while the rank sleeps";
}

TEST(WaitSleep, OnlyItsDataEndsASleepForAPeerOnAnotherHost) {
  Rank rank;
  waitFor(rank, kOnAnotherHost, 20);
  EXPECT_GT(rank.network.sleeps, 0);
  EXPECT_GE(rank.network.longest, kMillisecond) << "nothing but the network's events can end the wait";
}

TEST(WaitSleep, SleepsAreShortIfNoEventReportsAllThatCanEndAWait) {
  for (const WaitPlace& place : {kOnThisHost, kOnAnotherHost}) {
    Rank rank;
    WaitPlace many = place;
    many.isOneOfMany = true;
    waitFor(rank, many, 20);
    EXPECT_GT(rank.network.sleeps, 0);
    EXPECT_LT(rank.network.longest, kMillisecond);
  }
}

}  // namespace
}  // namespace jccl::wait_sleep_test
