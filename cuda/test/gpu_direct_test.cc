// Tests of SIMPLE slots in GPU memory, which adapters read and write (GPUDirect RDMA). They cover the whole path from
// kernel to kernel, over a simulated network that leaves garbage bytes in such memory until it is flushed.
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "cuda/test/staged_ranks.h"

namespace jccl::test::gpu_direct_test {
namespace {

TEST(GpuDirectOverANetwork, EveryAlgorithmAndProtocolBySeed) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    StagedRanks ranks(2 + static_cast<int>(seed % 2), deviceFaultsOf(seed), Slots::OnDevice);
    for (int round = 0; round < 6 && !HasFatalFailure(); ++round) sumUp(ranks, choiceBy(random), random);
    // Data that one protocol leaves in the slots must not disturb another protocol.
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
      if (!HasFatalFailure()) sumUp(ranks, choiceOf(algorithm, Protocol::Simple, kChannels), random);
    }
  }
}

TEST(GpuDirectOverANetwork, AGroupOfSendsAndCollectives) {
  StagedRanks ranks(2, deviceFaultsOf(98), Slots::OnDevice);
  exchangeAndSumUp(ranks);
  EXPECT_GT(ranks.network.flushed(), 0u);
}

// Runs all-reduces of 2000 elements on 2 channels with slots of 4096 bytes. Every non-empty message into GPU memory
// must be flushed. Messages of LL must not be flushed.
TEST(GpuDirectOverANetwork, OnlyMessagesIntoGpuMemoryAreFlushed) {
  StagedRanks ranks(2, deviceFaultsOf(4), Slots::OnDevice);
  const auto sum = [&](Protocol protocol) {
    std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(2000, 1));
    std::vector<Issued> issued;
    for (int rank = 0; rank < 2; ++rank) {
      issued.push_back(ranks.allReduce(rank, choiceOf(Algorithm::Ring, protocol, kChannels), buffers[rank]));
    }
    for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  };
  sum(Protocol::LL);
  EXPECT_EQ(ranks.network.flushed(), 0u);
  const uint64_t before = ranks.network.messages();
  sum(Protocol::Simple);
  const uint64_t sent = ranks.network.messages() - before;
  EXPECT_GT(ranks.network.flushed(), 0u);
  EXPECT_LT(ranks.network.flushed(), sent);  // one connection has its slots in memory of the host
  EXPECT_GT(2 * ranks.network.flushed(), sent);
}

TEST(GpuDirectOverANetwork, DataGoesThroughTheHostIfTheNetworkDoesNotReachTheGpu) {
  for (LogRecord record; takeLogRecord(&record);) {
  }
  StagedRanks ranks(2, faultsOf(5), Slots::OnDevice);
  std::string log;
  for (LogRecord record; takeLogRecord(&record);) log += record.text + "\n";
  EXPECT_NE(log.find("GPUDirect RDMA: connections="), std::string::npos) << log;
  EXPECT_NE(log.find("go through memory of the host instead: net: faulty reaches memory of the host only"),
            std::string::npos)
      << log;
  exchangeAndSumUp(ranks);
  EXPECT_EQ(ranks.network.flushed(), 0u);
}

// Data whose flush has failed is never published. The operation ends with an error that names the flush.
TEST(GpuDirectOverANetwork, AFlushThatFailsEndsTheKernels) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    NetFaults faults = deviceFaultsOf(seed);
    faults.failsFlushes = true;
    StagedRanks ranks(2, faults, Slots::OnDevice);
    std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(2000, 1));
    bool goesOn = true;
    for (int round = 0; round < 80 && goesOn; ++round) {
      std::vector<Issued> issued;
      for (int rank = 0; rank < 2; ++rank) {
        issued.push_back(
            ranks.allReduce(rank, choiceOf(Algorithm::Ring, Protocol::Simple, kChannels), buffers[rank], kLimitNanos));
      }
      goesOn = ranks.awaitTogether(issued);
    }
    EXPECT_FALSE(goesOn);
    const std::string texts = ranks.host(0).lastError() + ranks.host(1).lastError();
    EXPECT_NE(texts.find("a flush failed [simulated] [receiving step="), std::string::npos) << texts;
  }
}

}  // namespace
}  // namespace jccl::test::gpu_direct_test
