// Tests of GPUs that do not reach each other's memory and communicate over a simulated network, which delays, splits,
// reorders and breaks. They cover kernels, slots in host memory, the proxy thread, and the proxies of the host's
// engines. The seed decides which connections wait for posted receives, like verbs, and which are streams, like
// sockets.
#include <sys/mman.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "cuda/runtime/retired_memory.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/staged_ranks.h"

namespace jccl::test::staging_test {
namespace {

TEST(StagedOverANetwork, EveryAlgorithmAndProtocolBySeed) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int size = 2 + static_cast<int>(seed % 2);
    StagedRanks ranks(size, faultsOf(seed));
    for (int round = 0; round < 6 && !HasFatalFailure(); ++round) sumUp(ranks, choiceBy(random), random);
    EXPECT_GT(ranks.network.messages(), 0u);
  }
}

// Groups use the network like single operations.
TEST(StagedOverANetwork, AGroupOfSendsAndCollectives) {
  StagedRanks ranks(2, faultsOf(99));
  exchangeAndSumUp(ranks);
}

// A kernel waits for an absent rank until the abort, which soon ends the kernel.
TEST(StagedOverANetwork, AbortEndsAKernelThatWaits) {
  StagedRanks ranks(2, faultsOf(3));
  std::vector<int32_t> buffer(1000, 1);
  const Issued alone = ranks.allReduce(0, choiceOf(Algorithm::Ring, Protocol::Simple), buffer);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  bool done = true;
  EXPECT_EQ(ranks[0].query(alone.number, done), Code::Ok);
  EXPECT_FALSE(done);
  const auto start = std::chrono::steady_clock::now();
  ranks[0].abort(Code::Aborted);
  EXPECT_EQ(ranks.await(0, alone), Code::Aborted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// To unregister memory, the driver waits for every kernel, including kernels that wait for the rank that closes. So
// closing leaves the memory mapped until all kernels have ended.
TEST(StagedOverANetwork, ClosingWaitsForNoOtherCommunicatorsKernels) {
  const auto isMapped = [](void* page) {
    unsigned char resident = 0;
    return ::mincore(page, 4096, &resident) == 0;
  };
  StagedRanks spins(2, faultsOf(7));
  std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(1000, 1));
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::Simple);
  Issued alone;
  std::vector<StagedEnds> ends;
  {
    StagedRanks closes(2, faultsOf(8));
    ASSERT_TRUE(closes.host(0).stage(1, closes[0].stagedChannels(1), ends).isOk());
    alone = spins.allReduce(0, ring, buffers[0]);
    emulator::EmulatedGpu::ofThisProcess().setLongestWait(std::chrono::milliseconds(500));
  }
  emulator::EmulatedGpu::ofThisProcess().setLongestWait(std::chrono::minutes(2));
  ASSERT_EQ(emulator::EmulatedGpu::ofThisProcess().failure(), emulator::GpuFailure::None)
      << emulator::EmulatedGpu::ofThisProcess().whyFailed();
  EXPECT_TRUE(isMapped(ends[0].recvBlock));
  EXPECT_EQ(spins.await(1, spins.allReduce(1, ring, buffers[1])), Code::Ok);
  EXPECT_EQ(spins.await(0, alone), Code::Ok);
  EXPECT_EQ(buffers[0], std::vector<int32_t>(1000, 2));
  // The memory is unmapped now, unless another test has left a kernel that never ends.
  std::weak_ptr<int> other;
  {
    auto retired = std::make_shared<int>();
    other = retired;
    device::RetiredMemory::ofThisProcess().retire(0, {0}, std::move(retired));
  }
  device::RetiredMemory::ofThisProcess().collect();
  EXPECT_EQ(isMapped(ends[0].recvBlock), !other.expired());
}

// Connections of one rank break during an operation. The kernels of all ranks end, with an error that names the cause.
TEST(StagedOverANetwork, ABrokenConnectionEndsTheKernels) {
  int broken = 0, reported = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    NetFaults faults = faultsOf(seed);
    faults.loses = true;
    faults.ranks = 2;
    StagedRanks ranks(2, faults);
    std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(2000, 1));
    std::vector<Code> ends(2, Code::Ok);
    for (int round = 0; round < 40 && ends[0] == Code::Ok && ends[1] == Code::Ok; ++round) {
      std::vector<Issued> issued;
      for (int rank = 0; rank < 2; ++rank) {
        issued.push_back(ranks.allReduce(rank, choiceOf(Algorithm::Ring, Protocol::Simple, kChannels), buffers[rank],
                                         kBriefLimitNanos));
      }
      ranks.awaitTogether(issued, &ends);
      ASSERT_FALSE(HasFailure());
    }
    if (ends[0] == Code::Ok && ends[1] == Code::Ok) continue;
    ++broken;
    // A rank that had already finished may notice the failure as well.
    const Code failures[] = {ranks[0].failure(), ranks[1].failure()};
    if (failures[0] == Code::Transport || failures[1] == Code::Transport) {
      ++reported;
    } else {
      EXPECT_TRUE(failures[0] == Code::Timeout || failures[1] == Code::Timeout)
          << static_cast<int>(failures[0]) << " " << static_cast<int>(failures[1]);
    }
    // No further operation begins.
    const int failed = ends[0] == Code::Ok ? 1 : 0;
    EXPECT_NE(ranks.allReduce(failed, choiceOf(Algorithm::Ring, Protocol::Simple), buffers[failed]).code, Code::Ok);
  }
  EXPECT_GT(broken, 4);
  EXPECT_GT(reported, 2);
}

}  // namespace
}  // namespace jccl::test::staging_test
