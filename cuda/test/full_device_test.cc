// Tests of communicators whose kernels do not fit on a device together.
#include <atomic>
#include <chrono>
#include <thread>

#include "cuda/test/application.h"
#include "cuda/test/device/chips.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::full_device_test {
namespace {

using device::Issued;
using emulator::EmulatedGpu;

constexpr int kChannels = 8;  // each channel takes one of the 12 blocks that a device can hold
constexpr int kSize = 2;
constexpr int64_t kShortTimeout = 3'000'000'000;

// Two communicators of two ranks.
class FullDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    const emulator::Chip& chip = emulator::EmulatedDriver::ofThisProcess().chip();
    if (chip.blocks != emulator::kChips[0].blocks)
      GTEST_SKIP() << "chip=" << chip.name << ", expected \"Emulated GPU\", which these tests fill";
  }
  void make(int channels, int devices) {
    for (int c = 0; c < 2; ++c) {
      communicators_.push_back(std::make_unique<DeviceRuntimeRanks>(kSize, channels, devices));
      buffers_.emplace_back(kSize, 3000);
    }
  }
  device::DeviceCommunicator& rank(int communicator, int rank) { return communicators_[communicator]->rank(rank); }

  Issued issue(int communicator, int rank, int channels, device::Stream stream) {
    Choice choice = onTwoChannels(Algorithm::Ring, Protocol::Simple);
    choice.channels = static_cast<uint8_t>(channels);
    return allReduce(*communicators_[communicator], rank, buffers_[communicator], choice, stream, kShortTimeout);
  }
  Issued issue(int communicator, int rank, int channels) {
    return issue(communicator, rank, channels, this->rank(communicator, rank).ownStream());
  }
  void expectEnd(int communicator, int rank, const Issued& issued) {
    EXPECT_EQ(communicators_[communicator]->await(rank, issued), Code::Ok)
        << "communicator=" << communicator << " rank=" << rank << ": " << this->rank(communicator, rank).lastError();
  }
  void expectSums(float times) {
    for (const Buffers& buffers : buffers_) buffers.expectSum(times);
  }

  // Keeps a stream busy until release(), like work of the application.
  void hold(device::Stream stream) {
    auto* held = static_cast<EmulatedGpu::Stream*>(stream);
    ASSERT_TRUE(EmulatedGpu::ofThisProcess().hold(held, [this] { return goes_.load(); }).isOk());
  }
  void release() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    goes_ = true;
  }

  std::vector<std::unique_ptr<DeviceRuntimeRanks>> communicators_;
  std::vector<Buffers> buffers_;
  std::atomic<bool> goes_{false};
};

// On one device, the stream of the operation that was issued first is busy. The operation that was issued second must
// not begin before the first.
TEST_F(FullDevice, KernelsThatDoNotFitTogetherRunInTheOrderOfIssue) {
  make(kChannels, kSize);
  hold(rank(0, 0).ownStream());
  Issued issued[2][kSize];
  for (int r = 0; r < kSize; ++r) {
    for (int c = 0; c < 2; ++c) issued[c][r] = issue(c, r, kChannels);
  }
  release();
  for (int r = 0; r < kSize; ++r) {
    for (int c = 0; c < 2; ++c) expectEnd(c, r, issued[c][r]);
  }
  expectSums(1);
}

TEST_F(FullDevice, KernelsThatFitTogetherDoNotWait) {
  make(kChannels, kSize);
  hold(rank(0, 0).ownStream());
  Issued issued[2][kSize];
  for (int r = 0; r < kSize; ++r) {
    for (int i = 0; i < 2; ++i) issued[r == 0 ? i : 1 - i][r] = issue(r == 0 ? i : 1 - i, r, 4);
  }
  for (int r = 0; r < kSize; ++r) expectEnd(1, r, issued[1][r]);
  release();
  for (int r = 0; r < kSize; ++r) expectEnd(0, r, issued[0][r]);
  expectSums(1);
}

TEST_F(FullDevice, ReplaysAndOperationsRunInTheOrderOfIssue) {
  make(kChannels, kSize);
  std::vector<device::Stream> streams[2];
  std::vector<device::Graph> graphs[2];
  for (int r = 0; r < kSize; ++r) {
    const Application application(r);
    for (auto& one : streams) one.push_back(application.createStream());
    for (int c = 0; c < 2; ++c) {
      application.beginCapture(streams[0][r]);
      EXPECT_EQ(issue(c, r, kChannels, streams[0][r]).code, Code::Ok) << rank(c, r).lastError();
      graphs[c].push_back(application.endCapture(streams[0][r]));
    }
  }
  for (const int held : {0, 1}) {
    goes_ = false;
    hold(streams[held][0]);
    Issued eager[kSize];
    for (int r = 0; r < kSize; ++r) {
      const Application application(r);
      application.replay(graphs[0][r], streams[0][r]);
      application.replay(graphs[1][r], streams[1][r]);
      eager[r] = issue(0, r, kChannels);
      application.replay(graphs[1][r], streams[1][r]);
    }
    release();
    for (int r = 0; r < kSize; ++r) {
      expectEnd(0, r, eager[r]);
      for (auto& one : streams) Application(r).synchronize(one[r]);
      for (int c = 0; c < 2; ++c) EXPECT_EQ(rank(c, r).failure(), Code::Ok) << rank(c, r).lastError();
    }
  }
  expectSums(8);
}

TEST_F(FullDevice, CapturesOnSeveralStreamsAreRefused) {
  make(kChannels, kSize);
  const Application application(0);
  for (int c = 0; c < 2; ++c) {
    device::Stream stream = application.createStream();
    application.beginCapture(stream, device::CaptureMode::Relaxed);
    EXPECT_EQ(issue(c, 0, kChannels, stream).code, c == 0 ? Code::Ok : Code::Invalid);
    application.destroyGraph(application.endCapture(stream));
  }
  EXPECT_NE(rank(1, 0).lastError().find("on one stream"), std::string::npos) << rank(1, 0).lastError();
}

// Ranks of a communicator that share a device must run together. None of their kernels may be queued behind a kernel of
// the other communicator: that kernel could wait for another rank of its own communicator.
TEST_F(FullDevice, RanksOfOneDeviceWaitForOtherCommunicatorsOrAreRefused) {
  make(4, 1);
  const Application application(0);
  device::Stream stream = application.createStream();
  application.beginCapture(stream);
  EXPECT_EQ(issue(0, 0, 4, stream).code, Code::Invalid);
  application.destroyGraph(application.endCapture(stream));
  application.destroyStream(stream);
  const Issued first = issue(0, 0, 4);
  EXPECT_EQ(issue(1, 0, 4).code, Code::Invalid);
  EXPECT_NE(rank(1, 0).lastError().find("multiprocessors=8, expected at most 6"), std::string::npos)
      << rank(1, 0).lastError();
  expectEnd(0, 1, issue(0, 1, 4));
  expectEnd(0, 0, first);
  std::vector<std::thread> threads;
  for (int r = 0; r < kSize; ++r) {
    threads.emplace_back([&, r] {
      const Issued before = issue(0, r, 4), behind = issue(1, r, 4);
      expectEnd(0, r, before);
      expectEnd(1, r, behind);
    });
  }
  for (std::thread& thread : threads) thread.join();
  buffers_[0].expectSum(2);
  buffers_[1].expectSum(1);
}

TEST_F(FullDevice, TheBlockBudgetShowsWhatOtherCommunicatorsLeave) {
  int blocks = 0, free = 0;
  const auto ask = [&] { ASSERT_TRUE(device::DeviceCommunicator::blockBudget(1, 64, blocks, free).isOk()); };
  ask();
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(free, 8);
  communicators_.push_back(std::make_unique<DeviceRuntimeRanks>(kSize, 3, kSize));
  ask();
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(free, 5);
  EXPECT_EQ(rank(0, 1).crowding(), "");
  communicators_.push_back(std::make_unique<DeviceRuntimeRanks>(kSize, 10, kSize));
  ask();
  EXPECT_EQ(free, 0);
  EXPECT_NE(rank(1, 1).crowding().find("multiprocessors=6: the channels of all communicators of this process need 7"),
            std::string::npos);
  communicators_.clear();
  ask();
  EXPECT_EQ(free, 8);
}

}  // namespace
}  // namespace jccl::test::full_device_test
