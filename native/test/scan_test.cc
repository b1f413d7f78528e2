// Tests of scans: prefixes in the order of ranks, by doubling and along the chain.
#include <bit>
#include <string>

#include "test/rank_threads.h"

namespace jccl::test::scan_test {
namespace {

// The last two go along the chain, in two and in five chunks.
constexpr size_t kCounts[] = {0, 1, 7, 250, 3001, 20'000, 80'001};

class ScanTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { threads_ = std::make_unique<RankThreads>(GetParam()); }

  static Code run(Engine& engine, Collective collective, DataType type, ReduceOp op, Guarded& send, Guarded& recv,
                  size_t count) {
    return engine.run({collective, type, op}, choiceOf(Algorithm::Direct, Protocol::Simple), send.address(),
                      recv.address(), static_cast<int64_t>(count), 0, kTimeoutNanos);
  }

  std::unique_ptr<RankThreads> threads_;
};

INSTANTIATE_TEST_SUITE_P(Ranks, ScanTest, ::testing::Values(1, 2, 3, 4, 5, 8));

int64_t valueOf(int rank, size_t i) { return (rank + 1) * 1000 + static_cast<int64_t>(i % 997); }

int64_t sumOfLowest(int ranks, size_t i) {
  int64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += valueOf(rank, i);
  return sum;
}

TEST_P(ScanTest, EveryRankGetsTheSumOfLowerRanksAlsoInPlace) {
  threads_->run([](Engine& engine) {
    for (const Collective collective : {Collective::Scan, Collective::Exscan}) {
      const int covered = engine.rank() + (collective == Collective::Scan ? 1 : 0);
      for (const size_t count : kCounts) {
        for (const bool inPlace : {false, true}) {
          SCOPED_TRACE(std::string(nameOf(collective)) + " count=" + std::to_string(count) +
                       (inPlace ? " in place" : ""));
          Guarded send(count * 8, count % 3 == 1 ? 1 : 0), recv(count * 8, count % 3, 0xEE);
          for (size_t i = 0; i < count; ++i) send.set(i, valueOf(engine.rank(), i));
          Guarded& result = inPlace ? send : recv;
          ASSERT_EQ(run(engine, collective, DataType::Int64, ReduceOp::Sum, send, result, count), Code::Ok)
              << engine.lastError();
          const int64_t untouched = std::bit_cast<int64_t>(0xEEEEEEEEEEEEEEEEu);
          for (size_t i = 0; i < count; ++i) {
            const int64_t before = inPlace ? valueOf(engine.rank(), i) : untouched;
            ASSERT_EQ(result.get<int64_t>(i), covered == 0 ? before : sumOfLowest(covered, i)) << i;
            ASSERT_TRUE(inPlace || send.get<int64_t>(i) == valueOf(engine.rank(), i)) << i;
          }
          ASSERT_TRUE(send.intact() && recv.intact());
        }
      }
    }
  });
}

// Between zeros of different sign a minimum takes the later operand, so the result is the zero of the highest rank that
// it covers only if each step has its operands in the order of ranks.
TEST_P(ScanTest, OperandsAreInTheOrderOfRanks) {
  threads_->run([](Engine& engine) {
    const auto zeroOf = [](int rank, size_t i) { return (static_cast<size_t>(rank) * 7 + i) % 3 == 0 ? -0.0f : 0.0f; };
    for (const Collective collective : {Collective::Scan, Collective::Exscan}) {
      const int covered = engine.rank() + (collective == Collective::Scan ? 1 : 0);
      for (const size_t count : {size_t{300}, size_t{50'000}}) {
        Guarded send(count * 4), recv(count * 4);
        for (size_t i = 0; i < count; ++i) send.set(i, zeroOf(engine.rank(), i));
        ASSERT_EQ(run(engine, collective, DataType::Float32, ReduceOp::Min, send, recv, count), Code::Ok);
        for (size_t i = 0; i < count && covered > 0; ++i) {
          ASSERT_EQ(recv.get<uint32_t>(i), std::bit_cast<uint32_t>(zeroOf(covered - 1, i))) << i;
        }
      }
    }
  });
}

TEST_P(ScanTest, AnAverageIsRefused) {
  threads_->run([](Engine& engine) {
    Guarded send(4), recv(4);
    EXPECT_EQ(run(engine, Collective::Scan, DataType::Int32, ReduceOp::Avg, send, recv, 1), Code::Invalid);
    EXPECT_NE(engine.lastError().find("op=avg"), std::string::npos) << engine.lastError();
    EXPECT_EQ(engine.failure(), Code::Ok);
  });
}

TEST(Scan, RanksWithDifferentReductionsFail) {
  RankThreads threads(2);
  threads.run([](Engine& engine) {
    Guarded send(400), recv(400);
    const ReduceOp op = engine.rank() == 0 ? ReduceOp::Sum : ReduceOp::Max;
    const OperationCode code{Collective::Scan, DataType::Int32, op};
    const Choice choice = choiceOf(Algorithm::Direct, Protocol::Simple);
    // Rank 0 sends, and learns nothing from rank 1.
    const Code found = engine.run(code, choice, send.address(), recv.address(), 100, 0, kTimeoutNanos);
    EXPECT_EQ(found, engine.rank() == 0 ? Code::Ok : Code::Mismatch);
  });
}

TEST(Scan, PausesInsteadOfWaiting) {
  RankThreads threads(2);
  Guarded send(800'000), recv(800'000);
  Engine& last = threads[1];
  ASSERT_TRUE(last.pauseNext());
  const OperationCode code{Collective::Scan, DataType::Int64, ReduceOp::Sum};
  const Choice choice = choiceOf(Algorithm::Direct, Protocol::Simple);
  ASSERT_EQ(last.run(code, choice, send.address(), recv.address(), 100'000, 0, kTimeoutNanos), Code::Paused);
  std::thread first([&] {
    Guarded own(800'000);
    EXPECT_EQ(threads[0].run(code, choice, own.address(), own.address(), 100'000, 0, kTimeoutNanos), Code::Ok);
  });
  EXPECT_EQ(last.resume(kTimeoutNanos, false), Code::Ok) << last.lastError();
  first.join();
}

}  // namespace
}  // namespace jccl::test::scan_test
