// Who drives the agents of a network, and that no request to drive them is lost.
#include "transport/net_progress_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace jccl {
namespace {

constexpr int64_t kLimitNanos = 20'000'000'000;

// Work that takes one turn for each piece, and that no event tells of.
class PieceWork final : public Agent {
 public:
  int doWork(int64_t) override {
    if (left_.load() == 0) return 0;
    --left_;
    return 1;
  }
  bool pending() const override {
    const bool left = left_.load() > 0;
    if (!left && afterLook) std::exchange(afterLook, nullptr)();
    return left;
  }

  void add(int pieces) { left_ += pieces; }
  int left() const { return left_.load(); }

  // Called once, under the engine's lock: pending() has looked, found nothing, and has not returned.
  mutable std::function<void()> afterLook;

 private:
  std::atomic<int> left_{0};
};

bool becomes(const std::function<bool()>& condition) {
  const int64_t deadline = monotonicNanos() + kLimitNanos;
  while (!condition() && monotonicNanos() < deadline) std::this_thread::yield();
  return condition();
}

// The engine's thread looks for work that is left and finds none; before it concludes that it need not drive any more,
// somebody publishes and kicks.
TEST(NetProgressEngine, AKickBetweenTheThreadsLookAndItsConclusionIsNotLost) {
  NetProgressEngine engine;
  PieceWork agent;
  ASSERT_TRUE(engine.start().isOk());
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<bool> kicked{false};
  {
    const std::lock_guard lock(engine.mutex());
    engine.addDataLocked(&agent);
    agent.afterLook = [&] {
      ASSERT_NE(here, std::this_thread::get_id());
      std::thread([&] {
        agent.add(100);
        engine.kick();  // the lock is the thread's: nothing moves here
      }).join();
      kicked.store(true);
    };
    // Enough that the kick below leaves some to the engine's thread.
    agent.add(20);
  }
  engine.kick();
  EXPECT_TRUE(becomes([&] { return kicked.load(); }));
  EXPECT_TRUE(becomes([&] { return agent.left() == 0; })) << "left=" << agent.left();
  engine.stop();
}

TEST(NetProgressEngine, AKickOfAnIdleEngineIsDrivenToItsEnd) {
  NetProgressEngine engine;
  PieceWork agent;
  ASSERT_TRUE(engine.start().isOk());
  engine.addData(&agent);
  for (int round = 0; round < 20; ++round) {
    agent.add(10);
    engine.kick();
    ASSERT_TRUE(becomes([&] { return agent.left() == 0; })) << "round=" << round << " left=" << agent.left();
  }
  engine.stop();
}

}  // namespace
}  // namespace jccl
