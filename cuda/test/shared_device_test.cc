// Tests of ranks of one process that share a device, or that come to share one while another rank issues.
#include "cuda/runtime/shared_device.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "cuda/runtime/device_order.h"
#include "cuda/runtime/retired_memory.h"
#include "cuda/test/application.h"
#include "cuda/test/device/chips.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::shared_device_test {
namespace {

using device::SharedDevice;

constexpr std::chrono::milliseconds kSoon{50};

// The order of launches of a rank on device 0, of a communicator of its own. Two of these fill the device.
class Rank {
 public:
  Rank() : completion_(config()), order_(config_, completion_) {
    const device::DeviceGuard guard(config_.device);
    EXPECT_TRUE(completion_.allocate().isOk());
    EXPECT_TRUE(order_.join().isOk());
  }
  ~Rank() { order_.leave(); }
  SharedDevice::Turn takeTurn() { return order_.takeTurn(); }

 private:
  const device::DeviceCommunicatorConfig& config() {
    static uint64_t tokens = 0;
    config_.channels = 8;  // of the 12 blocks that the device can hold
    config_.threads = 64;
    config_.token[1] = ++tokens;
    return config_;
  }

  device::DeviceCommunicatorConfig config_;
  device::DeviceCompletion completion_;
  device::DeviceOrder order_;
};

class SharedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const emulator::Chip& chip = emulator::EmulatedDriver::ofThisProcess().chip();
    if (chip.blocks != emulator::kChips[0].blocks)
      GTEST_SKIP() << "chip=" << chip.name << ", expected \"Emulated GPU\", which these tests fill";
  }
};

template <class Body>
bool isPending(std::future<Body>& future) {
  return future.wait_for(kSoon) == std::future_status::timeout;
}

uint64_t entries() { return SharedDevice::of(0).entries() + SharedDevice::of(1).entries(); }

// Operations of every kind, each of which a rank has a device for: neither they nor polls enter the shared device.
TEST_F(SharedDeviceTest, AnOperationOfARankThatFitsTakesNoTurn) {
  constexpr int kSize = 2;
  DeviceRuntimeRanks ranks(kSize, 2, kSize);
  Buffers buffers(kSize, 64);
  const Application applications[kSize] = {Application(0), Application(1)};
  device::Stream streams[kSize];
  for (int rank = 0; rank < kSize; ++rank) streams[rank] = applications[rank].createStream();
  const Choice choice = onTwoChannels(Algorithm::Ring, Protocol::LL);
  const auto issueAll = [&](auto&& streamOf) {
    device::Issued issued[kSize];
    for (int rank = 0; rank < kSize; ++rank) issued[rank] = allReduce(ranks, rank, buffers, choice, streamOf(rank));
    for (int rank = 0; rank < kSize; ++rank) EXPECT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  };
  const uint64_t before = entries();
  for (int i = 0; i < 3; ++i) {
    issueAll([&](int rank) { return ranks.rank(rank).ownStream(); });
    issueAll([&](int rank) { return streams[rank]; });
  }
  device::Graph graphs[kSize];
  for (int rank = 0; rank < kSize; ++rank) {
    applications[rank].beginCapture(streams[rank]);
    ranks.rank(rank).beginGroup();
    EXPECT_EQ(allReduce(ranks, rank, buffers, choice, streams[rank]).code, Code::Ok);
    EXPECT_EQ(ranks.rank(rank).endGroup(kRuntimeLimitNanos, streams[rank]).code, Code::Ok);
    graphs[rank] = applications[rank].endCapture(streams[rank]);
  }
  for (int rank = 0; rank < kSize; ++rank) applications[rank].replay(graphs[rank], streams[rank]);
  for (int rank = 0; rank < kSize; ++rank) applications[rank].synchronize(streams[rank]);
  EXPECT_EQ(entries(), before);
  for (int rank = 0; rank < kSize; ++rank) {
    applications[rank].destroyGraph(graphs[rank]);
    applications[rank].destroyStream(streams[rank]);
  }
}

// A rank joins and fills the device while a launch that took no turn is under way.
TEST_F(SharedDeviceTest, JoiningWaitsForLaunchesThatTakeNoTurns) {
  Rank first;
  SharedDevice::Turn turn = first.takeTurn();
  ASSERT_FALSE(turn.isAlone());
  auto joining = std::async(std::launch::async, [] { return std::make_unique<Rank>(); });
  EXPECT_TRUE(isPending(joining));
  turn = {};
  const std::unique_ptr<Rank> second = joining.get();
  turn = first.takeTurn();
  EXPECT_TRUE(turn.isAlone());
  auto other = std::async(std::launch::async, [&] { return second->takeTurn().isAlone(); });
  EXPECT_TRUE(isPending(other));
  turn = {};
  EXPECT_TRUE(other.get());
}

TEST_F(SharedDeviceTest, LaunchesTakeNoTurnsWhenTheOthersHaveLeft) {
  Rank first;
  {
    const Rank second;
    EXPECT_TRUE(first.takeTurn().isAlone());
  }
  EXPECT_FALSE(first.takeTurn().isAlone());
  const uint64_t before = SharedDevice::of(0).entries();
  EXPECT_FALSE(first.takeTurn().isAlone());
  EXPECT_EQ(SharedDevice::of(0).entries(), before);
}

TEST_F(SharedDeviceTest, MemoryIsReturnedBetweenLaunches) {
  Rank rank;
  device::RetiredMemory& retired = device::RetiredMemory::ofThisProcess();
  if (!retired.whenQuiet({0, 1}, [] {})) GTEST_SKIP() << "another test has left a kernel that never ends";
  {
    const SharedDevice::Turn turn = rank.takeTurn();
    EXPECT_FALSE(std::async(std::launch::async, [&] { return retired.whenQuiet({0}, [] {}); }).get());
  }
  std::future<bool> launch;
  const auto body = [&] {
    launch = std::async(std::launch::async, [&] { return rank.takeTurn().isAlone(); });
    EXPECT_TRUE(isPending(launch));
    EXPECT_FALSE(retired.whenQuiet({1}, [] {}));  // inside of another body
  };
  EXPECT_TRUE(retired.whenQuiet({1, 0, 0}, body));
  EXPECT_FALSE(launch.get());
}

// A communicator issues in a loop, while others of which each fills the device with it join, issue and leave.
TEST_F(SharedDeviceTest, CommunicatorsJoinWhileAnotherIssues) {
  constexpr int kSize = 2, kJoins = 50;
  Choice choice = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  choice.channels = 4;  // for each of the two ranks on the device
  const auto allReduceOnAll = [&](DeviceRuntimeRanks& ranks, Buffers& buffers) {
    device::Issued issued[kSize];
    for (int rank = 0; rank < kSize; ++rank) {
      // The first rank is refused if the other communicator leaves no room for a second, as on a slow host.
      for (int tries = 0; tries == 0 || (rank == 0 && issued[rank].code == Code::Invalid && tries < 60); ++tries) {
        issued[rank] = allReduce(ranks, rank, buffers, choice, ranks.rank(rank).ownStream());
      }
    }
    for (int rank = 0; rank < kSize; ++rank) {
      EXPECT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
    }
  };
  DeviceRuntimeRanks first(kSize, 4);
  std::atomic<bool> ends{false};
  std::thread loop([&] {
    while (!ends) {
      Buffers buffers(kSize, 500);
      allReduceOnAll(first, buffers);
      buffers.expectSum(1);
    }
  });
  for (int i = 0; i < kJoins; ++i) {
    DeviceRuntimeRanks joins(kSize, 4);
    Buffers buffers(kSize, 500);
    allReduceOnAll(joins, buffers);
    buffers.expectSum(1);
  }
  ends = true;
  loop.join();
}

}  // namespace
}  // namespace jccl::test::shared_device_test
