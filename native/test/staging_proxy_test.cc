// Tests of StagingProxy, the thread that polls the network for GPU kernels: when it polls, when it rests, and what it
// does when the network fails.
#include "engine/staging.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/code.h"

namespace jccl::test::staging_proxy_test {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds kTimeLimit{30};

// A network that counts its calls. The test sets whether it has something to move.
class NotingNetwork final : public ProgressEngine {
 public:
  int poll() override {
    const std::lock_guard lock(mutex_);
    ++polls_;
    changed_.notify_all();
    return busy_ ? 1 : 0;
  }
  void waitForEvents(int64_t nanos) override {
    std::unique_lock lock(mutex_);
    ++waits_;
    longest_ = std::max(longest_, nanos);
    changed_.notify_all();
    const uint64_t kicks = kicks_;
    changed_.wait_for(lock, std::chrono::nanoseconds(nanos), [&] { return kicks_ != kicks; });
  }
  void kick() override {
    const std::lock_guard lock(mutex_);
    ++kicks_;
    changed_.notify_all();
  }
  bool failed() const override {
    const std::lock_guard lock(mutex_);
    return broken_;
  }

  void setBusy(bool busy) {
    const std::lock_guard lock(mutex_);
    busy_ = busy;
  }
  void breakDown() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  uint64_t polls() const {
    const std::lock_guard lock(mutex_);
    return polls_;
  }
  uint64_t kicks() const {
    const std::lock_guard lock(mutex_);
    return kicks_;
  }
  int64_t longestWait() const {
    const std::lock_guard lock(mutex_);
    return longest_;
  }
  // Waits until `holds` returns true. Returns false if it does not within kTimeLimit.
  template <class Holds>
  bool comes(Holds&& holds) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeLimit, [&] { return holds(*this); });
  }
  // without a lock, because comes() holds the mutex when it calls its condition
  uint64_t pollsNow() const { return polls_; }
  uint64_t kicksNow() const { return kicks_; }
  uint64_t waitsNow() const { return waits_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool busy_ = false, broken_ = false;
  uint64_t polls_ = 0, waits_ = 0, kicks_ = 0;
  int64_t longest_ = 0;
};

uint32_t load(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

template <class Holds>
bool comesTrue(Holds&& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

TEST(StagingProxy, LeavesTheNetworkAloneWhileNothingIsInFlight) {
  NotingNetwork network;
  ControlWords words{};
  StagingProxy proxy(network, {&words, 1}, [] {});
  std::this_thread::sleep_for(milliseconds(250));  // longer than two back-off sleeps of the proxy
  EXPECT_EQ(network.polls(), 0u);
  EXPECT_EQ(network.kicks(), 0u);
}

TEST(StagingProxy, MovesTheNetworkFromTheBeginOfAnOperationToItsEnd) {
  NotingNetwork network;
  network.setBusy(true);
  ControlWords words{};
  StagingProxy proxy(network, {&words, 1}, [] {});
  proxy.activity().begin();
  ASSERT_TRUE(network.comes([](const NotingNetwork& it) { return it.pollsNow() > 1000; }));
  EXPECT_EQ(network.kicks(), 0u);
  proxy.activity().end();
  // When the proxy stops polling, it kicks the network. The network's own thread then moves the slots that were
  // published last.
  ASSERT_TRUE(network.comes([](const NotingNetwork& it) { return it.kicksNow() == 1; }));
  const uint64_t polls = network.polls();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(network.polls(), polls);
  EXPECT_EQ(network.kicks(), 1u);
  EXPECT_EQ(load(words.abort), 0u);
}

// A kernel publishes without an event, so the thread must poll again soon, no matter how long nothing has moved.
TEST(StagingProxy, WaitsBrieflyWhenNothingMoves) {
  NotingNetwork network;
  ControlWords words{};
  StagingProxy proxy(network, {&words, 1}, [] {});
  proxy.activity().begin();
  ASSERT_TRUE(network.comes([](const NotingNetwork& it) { return it.waitsNow() > 20; }));
  EXPECT_GT(network.longestWait(), 0);
  EXPECT_LE(network.longestWait(), 1'000'000);
  proxy.activity().end();
}

// If the thread has a core of its own, it must find a kernel's next slot at once.
TEST(StagingProxy, DoesNotPauseUntilNothingHasMovedForTheSpinTime) {
  constexpr int64_t kHour = 3'600'000'000'000, kMoment = 1'000'000;
  for (const int64_t spinNanos : {kHour, kMoment}) {
    NotingNetwork network;
    ControlWords words{};
    StagingProxy proxy(
        network, {&words, 1}, [] {}, spinNanos);
    proxy.activity().begin();
    ASSERT_TRUE(network.comes(
        [&](const NotingNetwork& it) { return spinNanos == kHour ? it.pollsNow() > 10'000 : it.waitsNow() > 0; }));
    if (spinNanos == kHour) {
      EXPECT_EQ(network.longestWait(), 0);
    }
    proxy.activity().end();
  }
}

TEST(StagingProxy, MovesUntilTheLastOfSeveralOperationsHasEnded) {
  NotingNetwork network;
  network.setBusy(true);
  ControlWords words{};
  StagingProxy proxy(network, {&words, 1}, [] {});
  proxy.activity().begin();
  proxy.activity().begin();
  proxy.activity().end();
  const uint64_t polls = network.polls();
  ASSERT_TRUE(network.comes([&](const NotingNetwork& it) { return it.pollsNow() > polls + 1000; }));
  EXPECT_EQ(network.kicks(), 0u);
  proxy.activity().end();
  EXPECT_TRUE(network.comes([](const NotingNetwork& it) { return it.kicksNow() == 1; }));
}

// The data of an operation must leave even if the proxy never sees the operation in flight.
TEST(StagingProxy, AnOperationThatEndsAtOnceIsNotForgotten) {
  NotingNetwork network;
  ControlWords words{};
  StagingProxy proxy(network, {&words, 1}, [] {});
  for (uint64_t round = 1; round <= 200; ++round) {
    const uint64_t kicks = network.kicks();
    proxy.activity().begin();
    proxy.activity().end();
    ASSERT_TRUE(network.comes([&](const NotingNetwork& it) { return it.kicksNow() > kicks; })) << "round=" << round;
  }
}

TEST(StagingProxy, ABrokenNetworkEndsTheKernelsAfterTheHostWasInformed) {
  NotingNetwork network;
  ControlWords words[2] = {};
  uint32_t abortWhenReported = ~0u;
  int reported = 0;
  StagingProxy proxy(network, {words, 2}, [&] {
    ++reported;
    abortWhenReported = load(words[0].abort);
  });
  proxy.activity().begin();
  ASSERT_TRUE(network.comes([](const NotingNetwork& it) { return it.pollsNow() > 0; }));
  network.breakDown();
  ASSERT_TRUE(comesTrue([&] { return load(words[1].abort) != 0; }));
  EXPECT_EQ(static_cast<Code>(static_cast<int32_t>(load(words[0].abort))), Code::Transport);
  EXPECT_EQ(load(words[1].abort), load(words[0].abort));
  EXPECT_EQ(abortWhenReported, 0u);
  // A broken network is not polled any more, and reported only once.
  const uint64_t polls = network.polls();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(network.polls(), polls);
  EXPECT_EQ(reported, 1);
}

TEST(StagingProxy, ANetworkThatBreaksAtRestIsReportedAsWell) {
  NotingNetwork network;
  ControlWords words{};
  StagingProxy proxy(network, {&words, 1}, [] {});
  network.breakDown();
  EXPECT_TRUE(comesTrue([&] { return load(words.abort) == static_cast<uint32_t>(Code::Transport); }));
}

TEST(StagingProxy, TheFirstReasonToAbortStays) {
  NotingNetwork network;
  ControlWords words{static_cast<uint32_t>(Code::Aborted), 0};
  std::atomic<bool> reported{false};
  StagingProxy proxy(network, {&words, 1}, [&] { reported = true; });
  network.breakDown();
  ASSERT_TRUE(comesTrue([&] { return reported.load(); }));
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(load(words.abort), static_cast<uint32_t>(Code::Aborted));
}

TEST(StagingProxy, TheAbortWordOfAClosedRuntimeIsNotTouched) {
  NotingNetwork network;
  ControlWords words{};
  std::atomic<bool> reported{false};
  StagingProxy proxy(network, {&words, 1}, [&] { reported = true; });
  proxy.activity().close();
  network.breakDown();
  ASSERT_TRUE(comesTrue([&] { return reported.load(); }));
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(load(words.abort), 0u);
}

TEST(StagingProxy, EndsSoonWithOperationsInFlightAndWithout) {
  for (const bool inFlight : {false, true}) {
    NotingNetwork network;
    ControlWords words{};
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < 20; ++round) {
      StagingProxy proxy(network, {&words, 1}, [] {});
      if (inFlight) proxy.activity().begin();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, kTimeLimit / 2) << inFlight;
  }
}

}  // namespace
}  // namespace jccl::test::staging_proxy_test
