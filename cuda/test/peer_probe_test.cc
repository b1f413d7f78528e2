// Tests of the probe of peers' memory, over paths with faults.
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cuda/test/device/peer_faults.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::peer_probe_test {
namespace {

using device::DeviceCommunicator;
using device::PeerProbe;
using Failures = std::vector<std::vector<uint8_t>>;  // by rank and peer

// Sets the faults of the emulated GPUs while it exists.
class Faults {
 public:
  explicit Faults(const std::string& faults) {
    ::setenv("JCCL_EMULATED_FAULTS", faults.c_str(), 1);
    emulator::usePeerFaults();
  }
  ~Faults() {
    ::unsetenv("JCCL_EMULATED_FAULTS");
    emulator::usePeerFaults();
  }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
};

// Takes all steps of the probe with all ranks. `between` is called before each step.
Failures probe(DeviceRuntimeRanks& ranks, const std::function<void(int step)>& between = {}) {
  Failures failures(ranks.size());
  for (int step = 0; step < DeviceCommunicator::kProbeSteps; ++step) {
    if (between) between(step);
    for (int rank = 0; rank < ranks.size(); ++rank) {
      std::vector<int> peers;
      for (int peer = 0; peer < ranks.size(); ++peer) {
        if (peer != rank) peers.push_back(peer);
      }
      const Status status = ranks.rank(rank).probe(step, peers, kRuntimeLimitNanos, failures[rank]);
      EXPECT_TRUE(status.isOk()) << "step=" << step << ": " << status.message();
    }
  }
  return failures;
}

// Expects that operations over slots, which the probe has used, bring the right data.
void expectConnected(DeviceRuntimeRanks& ranks) {
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    Buffers buffers(ranks.size(), 5003);
    std::vector<device::Issued> issued;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      issued.push_back(
          allReduce(ranks, rank, buffers, onTwoChannels(Algorithm::Direct, protocol), ranks.rank(rank).ownStream()));
    }
    for (int rank = 0; rank < ranks.size(); ++rank) {
      ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
    }
    buffers.expectSum(1);
  }
}

// Connections between threads and between processes.
class PeerProbeTest : public testing::TestWithParam<bool> {
 protected:
  // Returns ranks on alternating devices.
  static std::unique_ptr<DeviceRuntimeRanks> makeRanks(int size) {
    std::vector<int> processes;
    for (int rank = 0; GetParam() && rank < size; ++rank) processes.push_back(rank);
    return std::make_unique<DeviceRuntimeRanks>(size, 2, 2, processes);
  }

  void SetUp() override { ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1); }
  void TearDown() override { ::unsetenv("JCCL_EMULATED_SHARING"); }
};

TEST_P(PeerProbeTest, PassesOnPathsWithoutFaultsAndLeavesTheSlotsAsTheyWere) {
  const auto ranks = makeRanks(3);
  for (const std::vector<uint8_t>& found : probe(*ranks)) EXPECT_EQ(found, std::vector<uint8_t>(3, 0));
  expectConnected(*ranks);
}

TEST_P(PeerProbeTest, FindsReadsThatBringOtherData) {
  const auto ranks = makeRanks(3);
  const Faults faults("reads:0-1");
  const Failures found = probe(*ranks);
  // Ranks 0 and 2 are on device 0, rank 1 is on device 1.
  EXPECT_EQ(found[0], (std::vector<uint8_t>{0, PeerProbe::kReads, 0}));
  EXPECT_EQ(found[1], (std::vector<uint8_t>{0, 0, 0}));
  EXPECT_EQ(found[2], (std::vector<uint8_t>{0, PeerProbe::kReads, 0}));
}

TEST_P(PeerProbeTest, FindsWritesThatAreLost) {
  const auto ranks = makeRanks(3);
  const Faults faults("writes:0-1");
  const Failures found = probe(*ranks);
  EXPECT_EQ(found[0], (std::vector<uint8_t>{0, 0, 0}));
  EXPECT_EQ(found[1], (std::vector<uint8_t>{PeerProbe::kWrites, 0, PeerProbe::kWrites}));
  EXPECT_EQ(found[2], (std::vector<uint8_t>{0, 0, 0}));
}

// A path that fails after the first round is noticed, because the second round has other content.
TEST_P(PeerProbeTest, FindsWritesThatAreLostInTheSecondRound) {
  const auto ranks = makeRanks(2);
  std::unique_ptr<Faults> faults;
  const Failures found = probe(*ranks, [&](int step) {
    if (step == 3) faults = std::make_unique<Faults>("writes:1-0");
  });
  EXPECT_EQ(found[0], (std::vector<uint8_t>{0, PeerProbe::kWrites}));
  EXPECT_EQ(found[1], (std::vector<uint8_t>{0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Connections, PeerProbeTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Processes" : "Threads"; });

// Runs the self-test of operations in place on all ranks. Returns the code of each.
std::vector<Code> testInPlace(DeviceRuntimeRanks& ranks) {
  std::vector<Code> codes(ranks.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] { codes[rank] = ranks.rank(rank).testInPlace(kRuntimeLimitNanos).code(); });
  }
  for (std::thread& thread : threads) thread.join();
  return codes;
}

TEST(InPlaceSelfTest, PassesOnPathsWithoutFaults) {
  DeviceRuntimeRanks ranks(4, 2, 2);
  EXPECT_EQ(testInPlace(ranks), std::vector<Code>(4, Code::Ok));
}

TEST(InPlaceSelfTest, FindsReadsThatBringOtherDataAndIsFollowedByOperationsOverSlots) {
  DeviceRuntimeRanks ranks(2, 2, 2);
  {
    const Faults faults("in_place/reads:1-0");
    const std::vector<Code> codes = testInPlace(ranks);
    EXPECT_EQ(codes[1], Code::Transport);
  }
  for (int rank = 0; rank < 2; ++rank) ranks.rank(rank).renounceInPlace();
  const Choice direct = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);
  EXPECT_EQ(ranks.rank(0).adjustChoice(direct, Collective::AllReduce).flags, 0);
  expectConnected(ranks);
}

}  // namespace
}  // namespace jccl::test::peer_probe_test
