// Tests that the library allocates nothing next to waiting kernels for which the driver would wait.
#include <chrono>
#include <thread>

#include "cuda/test/application.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::allocation_test {
namespace {

using device::Issued;
using emulator::EmulatedGpu;

constexpr size_t kCount = 1000;
const Choice kRing = onTwoChannels(Algorithm::Ring, Protocol::Simple);
const Choice kInPlace = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);

// Two ranks, each on its own device. The first rank's kernel waits for the second rank until end().
class Waiting {
 public:
  explicit Waiting(int channels = 2) : ranks_(2, channels, 2), buffers_(2, kCount), first_(issue(0)) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ranks_.rank(0).waiting().empty() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EmulatedGpu::ofThisProcess().setLongestWait(std::chrono::milliseconds(500));
  }
  void end() {
    EmulatedGpu::ofThisProcess().setLongestWait(std::chrono::minutes(2));
    EXPECT_EQ(EmulatedGpu::ofThisProcess().failure(), emulator::GpuFailure::None)
        << EmulatedGpu::ofThisProcess().whyFailed();
    EXPECT_EQ(ranks_.await(1, issue(1)), Code::Ok);
    EXPECT_EQ(ranks_.await(0, first_), Code::Ok);
    buffers_.expectSum(1);
  }

 private:
  Issued issue(int rank) { return allReduce(ranks_, rank, buffers_, kRing, ranks_.rank(rank).ownStream()); }

  DeviceRuntimeRanks ranks_;
  Buffers buffers_;
  Issued first_;
};

void sumUp(DeviceRuntimeRanks& ranks, const Choice& choice, const std::vector<float*>& memory) {
  std::vector<Issued> issued;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    for (size_t i = 0; i < kCount; ++i) memory[rank][i] = static_cast<float>(rank + 1);
    issued.push_back(ranks.rank(rank).run(kSum, choice, memory[rank], memory[rank], kCount, 0, kRuntimeLimitNanos,
                                          ranks.rank(rank).ownStream()));
  }
  for (int rank = 0; rank < ranks.size(); ++rank) {
    ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(memory[rank][i], 3) << i;
  }
}

// The thread of a rank may make and close another communicator before it issues what the kernels of its peers wait for.
TEST(Allocation, ACommunicatorIsMadeUsedAndClosedWhileKernelsOfAnotherWait) {
  Waiting waiting;
  std::vector<float> buffers[2] = {std::vector<float>(kCount), std::vector<float>(kCount)};
  for (int round = 0; round < 3; ++round) {
    DeviceRuntimeRanks second(2, 2, 2);
    sumUp(second, kRing, {buffers[0].data(), buffers[1].data()});
    sumUp(second, kInPlace, {buffers[0].data(), buffers[1].data()});
  }
  waiting.end();
}

// If giving peers access to cudaMalloc memory would wait for kernels of another communicator, operations do not use
// that memory in place.
TEST(Allocation, MemoryToWhichPeersCannotBeGivenAccessGoesThroughTheLibrarysBuffers) {
  if ((emulator::GpuMemory::ofThisProcess().usersOfContext(0) & 2) != 0) {
    GTEST_SKIP() << "another test of this process has given the devices access to each other's memory";
  }
  std::vector<void*> memory(2);
  for (int rank = 0; rank < 2; ++rank) {
    Application(rank).here([&] { return device::allocate(kCount * sizeof(float), memory[rank]); });
  }
  const std::vector<float*> buffers = {static_cast<float*>(memory[0]), static_cast<float*>(memory[1])};
  std::unique_ptr<DeviceRuntimeRanks> second;
  {
    DeviceRuntimeRanks other(2, 2, 1);
    Buffers alone(2, kCount);
    const Issued first = allReduce(other, 0, alone, kRing, other.rank(0).ownStream());
    second = std::make_unique<DeviceRuntimeRanks>(2, 2, 2);
    sumUp(*second, kInPlace, buffers);
    EXPECT_NE(second->rank(0).takeNotice().find("wait for their operations before"), std::string::npos);
    EXPECT_EQ(other.await(1, allReduce(other, 1, alone, kRing, other.rank(1).ownStream())), Code::Ok);
    EXPECT_EQ(other.await(0, first), Code::Ok);
  }
  // A later communicator gives the access, because no kernel is in flight.
  second = std::make_unique<DeviceRuntimeRanks>(2, 2, 2);
  sumUp(*second, kInPlace, buffers);
  EXPECT_FALSE(second->rank(0).hasNotice());
  second.reset();
  for (int rank = 0; rank < 2; ++rank) {
    Application(rank).here([&] { return device::release(memory[rank]); });
  }
}

}  // namespace
}  // namespace jccl::test::allocation_test
