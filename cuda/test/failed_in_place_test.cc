// Tests that a rank gets its buffers back when its in-place operation has failed: no peer's kernel accesses them
// afterwards.
#include <algorithm>
#include <atomic>

#include "cuda/test/application.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::failed_in_place_test {
namespace {

using device::Issued;
using emulator::EmulatedGpu;

// Runs in-place all-gathers in which rank 1 contributes all data: rank 0 only waits while rank 1 writes into its
// buffer.
class FailedInPlace : public ::testing::Test {
 protected:
  static constexpr size_t kCount = 1'000'000;
  static constexpr float kRefill = -7;
  static constexpr int64_t kLongTimeout = 5'000'000'000;
  static constexpr int64_t kAmidTheMove = 1'000'000;  // in ns; moving kCount elements takes tens of ms

  // With this schedule, waiting threads poll while other threads move data.
  void SetUp() override { EmulatedGpu::ofThisProcess().setSchedule(emulator::Schedule::Random, 1); }
  void TearDown() override { EmulatedGpu::ofThisProcess().setSchedule(emulator::Schedule::RoundRobin, 1); }

  Issued allGather(int rank, int64_t timeoutNanos = kLongTimeout) {
    std::vector<float>& recv = recvs_[rank];
    return ranks_.rank(rank).runV(kGather, onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy),
                                  send_.data(), recv.data(), {0, static_cast<int64_t>(kCount), 0, 0}, 0, timeoutNanos,
                                  stream(rank));
  }
  device::Stream stream(int rank) { return ranks_.rank(rank).ownStream(); }

  // Writes known values into rank 0's buffer, as an application that uses the buffer again.
  void refill() { std::fill(recvs_[0].begin(), recvs_[0].end(), kRefill); }
  // Waits for the kernels of rank 1, and expects that they have not written into rank 0's buffer since refill().
  void expectRefilled() {
    Application().synchronize(stream(1));
    const auto wrong = std::count_if(recvs_[0].begin(), recvs_[0].end(), [](float found) { return found != kRefill; });
    EXPECT_EQ(wrong, 0) << "elements that were written after the operation had failed";
  }

  static constexpr OperationCode kGather{Collective::AllGather, DataType::Float32, ReduceOp::Sum};
  DeviceRuntimeRanks ranks_{2};
  std::vector<float> send_ = std::vector<float>(kCount, 1);
  std::vector<float> recvs_[2] = {std::vector<float>(kCount), std::vector<float>(kCount)};
};

TEST_F(FailedInPlace, ReturnsWhenThePeerHasStoppedWriting) {
  const Issued theirs = allGather(1);
  EXPECT_EQ(ranks_.await(0, allGather(0, kAmidTheMove)), Code::Timeout);
  refill();
  const Code code = ranks_.await(1, theirs);
  EXPECT_TRUE(code == Code::Ok || code == Code::Aborted) << static_cast<int>(code);
  expectRefilled();
}

TEST_F(FailedInPlace, KeepsOutAPeerWhoseKernelStartsLater) {
  std::atomic<bool> goes = false;
  ASSERT_TRUE(EmulatedGpu::ofThisProcess()
                  .hold(static_cast<EmulatedGpu::Stream*>(stream(1)), [&] { return goes.load(); })
                  .isOk());
  const Issued theirs = allGather(1);
  const Issued mine = allGather(0, 20'000'000);
  EXPECT_EQ(ranks_.await(0, mine), Code::Timeout);
  const std::string error = ranks_.rank(0).lastError();
  refill();
  goes = true;
  EXPECT_EQ(ranks_.await(1, theirs), Code::Aborted);
  expectRefilled();
  EXPECT_NE(error.find("peers=1 have not ended their kernels"), std::string::npos) << error;
}

TEST_F(FailedInPlace, KeepsOutAPeerThatIssuesLater) {
  EXPECT_EQ(ranks_.await(0, allGather(0, 20'000'000)), Code::Timeout);
  refill();
  EXPECT_EQ(ranks_.await(1, allGather(1)), Code::Aborted);
  expectRefilled();
}

TEST_F(FailedInPlace, KeepsOutAPeerThatReplaysAGraph) {
  const Application application;
  application.beginCapture(stream(1));
  EXPECT_EQ(allGather(1).code, Code::Ok);
  device::Graph graph = application.endCapture(stream(1));
  EXPECT_EQ(ranks_.await(0, allGather(0, 20'000'000)), Code::Timeout);
  refill();
  application.replay(graph, stream(1));
  expectRefilled();
}

TEST_F(FailedInPlace, ClosingTheRankReturnsItsBuffers) {
  (void)allGather(1);
  (void)allGather(0, kAmidTheMove);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ranks_.rank(0).failure() == Code::Ok) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  ranks_.close(0);
  refill();
  expectRefilled();
}

// The rounds have different deadlines and schedules. Rank 0 moves the least data, so the deadline passes while its
// kernel moves data or waits.
TEST_F(FailedInPlace, ReturnsTheBuffersWheneverTheDeadlinePasses) {
  constexpr int kRounds = 40;
  constexpr int kSize = 3;
  const Choice inPlace = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);
  const std::vector<int64_t> parts = {10'000, 50'000, 100'000, 0, 10'000, 60'000};
  int failed = 0;
  for (int round = 0; round < kRounds; ++round) {
    EmulatedGpu::ofThisProcess().setSchedule(emulator::Schedule::BySeed, round + 1);
    DeviceRuntimeRanks ranks(kSize);
    Buffers sends(kSize, 100'000), recvs(kSize, 160'000);
    Issued issued[kSize];
    const auto issue = [&](int rank, int64_t timeoutNanos) {
      issued[rank] = ranks.rank(rank).runV(kGather, inPlace, sends.ranks[rank].data(), recvs.ranks[rank].data(), parts,
                                           0, timeoutNanos, ranks.rank(rank).ownStream());
    };
    issue(1, kLongTimeout);
    if (round % 2 == 0) issue(2, kLongTimeout);
    issue(0, (round % 10 + 1) * 40'000);
    if (round % 2 == 1) issue(2, kLongTimeout);
    if (ranks.await(0, issued[0]) == Code::Ok) continue;
    ++failed;
    std::vector<float>& mine = recvs.ranks[0];
    std::fill(mine.begin(), mine.end(), -7.0f);
    for (int rank = 1; rank < kSize; ++rank) {
      const Code code = ranks.await(rank, issued[rank]);
      EXPECT_TRUE(code == Code::Ok || code == Code::Aborted) << static_cast<int>(code);
    }
    ASSERT_EQ(std::count(mine.begin(), mine.end(), -7.0f), static_cast<int64_t>(mine.size())) << "round=" << round;
  }
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace jccl::test::failed_in_place_test
