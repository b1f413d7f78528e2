// Tests of what kernels report about their ends, and of the order that depends on it.
#include <thread>
#include <vector>

#include "cuda/test/application.h"
#include "cuda/test/device/call_counts.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::launch_report_test {
namespace {

using device::Issued;

constexpr int kSize = 2;

Choice ring() { return onTwoChannels(Algorithm::Ring, Protocol::Simple); }

uint64_t endedOf(DeviceRuntimeRanks& ranks, int rank) {
  return __atomic_load_n(&ranks.rank(rank).report()->ended, __ATOMIC_ACQUIRE);
}

// Waits without calling the communicator.
void awaitReport(DeviceRuntimeRanks& ranks, int rank, const Issued& issued) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (endedOf(ranks, rank) < issued.number) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST(LaunchReport, AnOperationThatEndedIsReportedWithItsResult) {
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 5003);
  std::vector<Issued> issued;
  for (int rank = 0; rank < kSize; ++rank) {
    issued.push_back(allReduce(ranks, rank, buffers, ring(), ranks.rank(rank).ownStream()));
    EXPECT_FALSE(issued[rank].captured);
  }
  for (int rank = 0; rank < kSize; ++rank) {
    awaitReport(ranks, rank, issued[rank]);
    EXPECT_EQ(ranks.rank(rank).report()->failed, 0u);
  }
  buffers.expectSum(1);
}

TEST(LaunchReport, AnAbortedOperationIsReportedAsTheFirstThatFailed) {
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 100);
  std::vector<Issued> issued;
  for (int rank = 0; rank < kSize; ++rank) {
    issued.push_back(allReduce(ranks, rank, buffers, ring(), ranks.rank(rank).ownStream()));
  }
  for (int rank = 0; rank < kSize; ++rank) ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  const Issued alone = allReduce(ranks, 0, buffers, ring(), ranks.rank(0).ownStream());
  const Issued behind = allReduce(ranks, 0, buffers, ring(), ranks.rank(0).ownStream());
  ranks.rank(0).abort(Code::Aborted);
  awaitReport(ranks, 0, behind);
  EXPECT_EQ(ranks.rank(0).report()->failed, alone.number);
  EXPECT_EQ(ranks.await(0, alone), Code::Aborted);
  EXPECT_EQ(ranks.await(0, issued[0]), Code::Ok);
}

TEST(LaunchReport, ReplaysLeaveTheReportUnchanged) {
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 300);
  const Application application;
  std::vector<device::Stream> streams;
  std::vector<device::Graph> graphs;
  for (int rank = 0; rank < kSize; ++rank) {
    streams.push_back(application.createStream());
    application.beginCapture(streams[rank]);
    EXPECT_TRUE(allReduce(ranks, rank, buffers, ring(), streams[rank]).captured);
    graphs.push_back(application.endCapture(streams[rank]));
  }
  std::vector<Issued> issued;
  for (int rank = 0; rank < kSize; ++rank) issued.push_back(allReduce(ranks, rank, buffers, ring(), streams[rank]));
  for (int rank = 0; rank < kSize; ++rank) application.replay(graphs[rank], streams[rank]);
  for (int rank = 0; rank < kSize; ++rank) {
    application.synchronize(streams[rank]);
    EXPECT_EQ(endedOf(ranks, rank), issued[rank].number);
  }
  buffers.expectSum(2);
}

// A driver may give the next stream the handle of the destroyed one.
TEST(LaunchReport, AnOperationWaitsForThePreviousOneOnADestroyedStream) {
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 700);
  const Application application;
  std::vector<Issued> last(kSize);
  for (int i = 0; i < 5; ++i) {
    const device::Stream streams[kSize] = {application.createStream(), application.createStream()};
    for (int rank = 0; rank < kSize; ++rank) {
      last[rank] = allReduce(ranks, rank, buffers, ring(), streams[rank]);
      ASSERT_EQ(last[rank].code, Code::Ok) << ranks.rank(rank).lastError();
    }
    for (const device::Stream stream : streams) application.destroyStream(stream);
  }
  for (int rank = 0; rank < kSize; ++rank) ASSERT_EQ(ranks.await(rank, last[rank]), Code::Ok);
  buffers.expectSum(16);
}

TEST(LaunchReport, EventsOrderOperationsIfStreamsCannotWaitForWords) {
  emulator::EmulatedDriver& driver = emulator::EmulatedDriver::ofThisProcess();
  driver.setStreamWaits(false);
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 700);
  const Application application;
  std::vector<Issued> last(kSize);
  for (int rank = 0; rank < kSize; ++rank) {
    const device::Stream streams[] = {application.createStream(), application.createStream()};
    for (int i = 0; i < 4; ++i) {
      emulator::CallCounts::ofThisThread().reset();
      last[rank] = allReduce(ranks, rank, buffers, ring(), streams[i % 2]);
      ASSERT_EQ(last[rank].code, Code::Ok) << ranks.rank(rank).lastError();
    }
    EXPECT_NE(emulator::CallCounts::ofThisThread().text().find("cuStreamWaitEvent"), std::string::npos);
    EXPECT_NE(emulator::CallCounts::ofThisThread().text().find("cuEventRecord"), std::string::npos);
  }
  for (int rank = 0; rank < kSize; ++rank) ASSERT_EQ(ranks.await(rank, last[rank]), Code::Ok);
  buffers.expectSum(8);
  driver.setStreamWaits(true);
}

}  // namespace
}  // namespace jccl::test::launch_report_test
