// Tests of the progress engine: which thread polls the callbacks of a network, and that no kick is lost.
#include "transport/net_progress_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace jccl::net_progress_engine_test {
namespace {

constexpr int64_t kLimitNanos = 20'000'000'000;

// Work in parts. Each part takes one poll, and no event announces the work.
class PartsOfWork final : public ProgressCallback {
 public:
  int poll(int64_t) override {
    if (left_.load() == 0) return 0;
    --left_;
    return 1;
  }
  bool pending() const override {
    const bool left = left_.load() > 0;
    if (!left && afterCheck) std::exchange(afterCheck, nullptr)();
    return left;
  }

  void add(int parts) { left_ += parts; }
  int left() const { return left_.load(); }

  // Called once, under the engine's lock, after pending() has found no work and before pending() returns.
  mutable std::function<void()> afterCheck;

 private:
  std::atomic<int> left_{0};
};

bool becomes(const std::function<bool()>& condition) {
  const int64_t deadline = monotonicNanos() + kLimitNanos;
  while (!condition() && monotonicNanos() < deadline) std::this_thread::yield();
  return condition();
}

// Throws in its first three polls.
class Throwing final : public ProgressCallback {
 public:
  int poll(int64_t) override {
    if (polls.fetch_add(1) < 3) throw std::bad_alloc();
    return 0;
  }
  bool pending() const override { return polls.load() < 5; }

  std::atomic<int> polls{0};
};

TEST(NetProgressEngine, TheThreadContinuesAfterACallbackThatThrows) {
  Throwing callback;
  NetProgressEngine engine;
  ASSERT_TRUE(engine.start().isOk());
  engine.addControl(&callback);
  EXPECT_TRUE(becomes([&] {
    engine.wakeThread();
    return callback.polls.load() > 5;
  }));
  engine.stop();
}

// The engine's thread checks for remaining work and finds none. Before it concludes that it can stop polling, a caller
// adds work and kicks.
TEST(NetProgressEngine, AKickBetweenTheThreadsCheckAndItsConclusionIsNotLost) {
  NetProgressEngine engine;
  PartsOfWork callback;
  ASSERT_TRUE(engine.start().isOk());
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<bool> kicked{false};
  {
    const std::lock_guard lock(engine.mutex());
    engine.addDataLocked(&callback);
    callback.afterCheck = [&] {
      ASSERT_NE(here, std::this_thread::get_id());
      std::thread([&] {
        callback.add(100);
        engine.kick();  // the engine's thread has the lock, so this polls nothing
      }).join();
      kicked.store(true);
    };
    // Adds so much work that the kick below leaves some of it to the engine's thread.
    callback.add(20);
  }
  engine.kick();
  EXPECT_TRUE(becomes([&] { return kicked.load(); }));
  EXPECT_TRUE(becomes([&] { return callback.left() == 0; })) << "left=" << callback.left();
  engine.stop();
}

// A network asks for events only after a poll that finds nothing. So no event announces completions that a poll has not
// read, and the thread must poll again.
TEST(NetProgressEngine, TheThreadPollsControlWorkToItsEndWithoutEvents) {
  NetProgressEngine engine;
  PartsOfWork callback;
  callback.add(100);
  ASSERT_TRUE(engine.start().isOk());
  engine.addControl(&callback);
  EXPECT_TRUE(becomes([&] { return callback.left() == 0; })) << "left=" << callback.left();
  engine.stop();
}

TEST(NetProgressEngine, WorkThatIsKickedOnAnIdleEngineIsFinished) {
  NetProgressEngine engine;
  PartsOfWork callback;
  ASSERT_TRUE(engine.start().isOk());
  engine.addData(&callback);
  for (int round = 0; round < 20; ++round) {
    callback.add(10);
    engine.kick();
    ASSERT_TRUE(becomes([&] { return callback.left() == 0; })) << "round=" << round << " left=" << callback.left();
  }
  engine.stop();
}

}  // namespace
}  // namespace jccl::net_progress_engine_test
