// Operations that pause where they would wait for another rank.
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "test/rank_threads.h"
#include "test/sanitized.h"

namespace jccl::test::pausing_test {
namespace {

constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

// Runs an operation that pauses. Now and then another thread continues it, or it goes on without a further pause.
template <typename Run>
Code runPausing(Engine& engine, std::mt19937& random, Run&& run) {
  EXPECT_TRUE(engine.pauseNext());
  Code code = run();
  while (code == Code::Paused) {
    if (random() % 50 == 0) {
      std::thread([&] { code = engine.resume(kTimeoutNanos, true); }).join();
    } else {
      code = engine.resume(kTimeoutNanos, random() % 50 != 0);
    }
  }
  return code;
}

using Parameter = std::tuple<Algorithm, Protocol, int, uint16_t>;  // algorithm, protocol, channels, flags

class PausingTest : public ::testing::TestWithParam<Parameter> {};

TEST_P(PausingTest, AllReducesThatPauseSumExactly) {
  const auto [algorithm, protocol, channels, flags] = GetParam();
  const Choice choice = choiceOf(algorithm, protocol, channels, 3000, flags);
  RankThreads threads(3, channels);
  threads.run([&](Engine& engine) {
    std::mt19937 random(static_cast<unsigned>(engine.rank()));
    for (const size_t count : {1, 300, kSanitized ? 5000 : 40001}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<float> send(count, static_cast<float>(engine.rank() + round)), recv(count, -1);
        const auto run = [&] {
          return engine.run(kSum, choice, reinterpret_cast<uint64_t>(send.data()),
                            reinterpret_cast<uint64_t>(recv.data()), static_cast<int64_t>(count), 0, kTimeoutNanos);
        };
        const Code code = random() % 3 == 0 ? run() : runPausing(engine, random, run);
        ASSERT_EQ(Code::Ok, code) << engine.lastError();
        ASSERT_EQ(std::vector<float>(count, static_cast<float>(3 + 3 * round)), recv) << "round=" << round;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Matrix, PausingTest,
                         ::testing::Values(Parameter{Algorithm::Ring, Protocol::LL, 1, 0},
                                           Parameter{Algorithm::Ring, Protocol::Simple, 3, 0},
                                           Parameter{Algorithm::Tree, Protocol::LL128, 2, 0},
                                           Parameter{Algorithm::Direct, Protocol::LL, 1, 0},
                                           Parameter{Algorithm::Direct, Protocol::Simple, 1, Choice::kTwoShot},
                                           Parameter{Algorithm::Direct, Protocol::Simple, 1, Choice::kTryZeroCopy}));

TEST(Pausing, MessagesThatPauseArriveInOrder) {
  RankThreads threads(2);
  threads.run([&](Engine& engine) {
    std::mt19937 random(static_cast<unsigned>(engine.rank()));
    const int peer = 1 - engine.rank();
    for (const size_t bytes : {8, 900, 3'000'000}) {
      for (uint8_t round = 0; round < 20; ++round) {
        std::vector<uint8_t> sent(bytes, round), received(bytes, 0xFF);
        const PointToPointTask send{PointToPointTask::Kind::Send, peer, sent.data(), bytes};
        const PointToPointTask recv{PointToPointTask::Kind::Recv, peer, received.data(), bytes};
        const PointToPointTask both[] = {send, recv};
        const auto run = [&] { return engine.runPointToPoint(both, kTimeoutNanos); };
        ASSERT_EQ(Code::Ok, runPausing(engine, random, run)) << engine.lastError();
        ASSERT_EQ(sent, received);
      }
    }
  });
}

TEST(Pausing, AnEngineEndsThoughItsOperationIsPaused) {
  std::vector<float> data(1000);
  RankThreads threads(2);
  Engine& engine = threads[0];
  ASSERT_TRUE(engine.pauseNext());
  const auto address = reinterpret_cast<uint64_t>(data.data());
  EXPECT_EQ(Code::Paused, engine.run(kSum, choiceOf(Algorithm::Ring, Protocol::Simple), address, address, 1000, 0, 1));
}

TEST(Pausing, AnAbortOrATimeLimitEndsAPausedOperation) {
  std::vector<float> data(1000);
  const auto address = reinterpret_cast<uint64_t>(data.data());
  for (const bool aborts : {false, true}) {
    RankThreads threads(2);
    Engine& engine = threads[0];
    ASSERT_TRUE(engine.pauseNext());
    Code code = engine.run(kSum, choiceOf(Algorithm::Ring, Protocol::LL), address, address, 1000, 0, kTimeoutNanos);
    ASSERT_EQ(Code::Paused, code);
    if (aborts) engine.abort(Code::Aborted);
    const int64_t start = monotonicNanos();
    while (code == Code::Paused)
      code = engine.resume(std::max<int64_t>(1, start + 20'000'000 - monotonicNanos()), true);
    EXPECT_LT(monotonicNanos() - start, kTimeoutNanos / 2);
    EXPECT_EQ(aborts ? Code::Aborted : Code::Timeout, code);
  }
}

}  // namespace
}  // namespace jccl::test::pausing_test
