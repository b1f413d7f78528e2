// Tests of device memory that is shared by file descriptors. All allocations, descriptors and mappings must be gone at
// the end, even after refusals.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/device_segment.h"
#include "cuda/test/device_runtime_ranks.h"
#include "cuda/test/left_memory.h"
#include "test/rank_threads.h"

namespace jccl::test::descriptor_memory_test {
namespace {

using device::DescriptorMemory;
using device::DeviceSegment;
using device::PeerMemory;

constexpr size_t kBytes = 100'000;

// Sets what the emulated driver supports, until the object is destroyed.
class Sharing {
 public:
  explicit Sharing(const char* words) { ::setenv("JCCL_EMULATED_SHARING", words, 1); }
  ~Sharing() { ::unsetenv("JCCL_EMULATED_SHARING"); }
};

TEST(DescriptorMemory, ADescriptorMapsTheSameMemoryAndNothingIsLeft) {
  const Sharing sharing("descriptors");
  const device::DeviceGuard guard(0);
  {
    DeviceSegment segment;
    UniqueFd descriptor;
    ASSERT_TRUE(DeviceSegment::behindDescriptor(kBytes, segment, descriptor).isOk());
    EXPECT_TRUE(segment.hasDescriptor());
    EXPECT_GE(segment.bytes(), kBytes);
    segment.base()[kBytes - 1] = 42;
    PeerMemory peer;
    ASSERT_TRUE(PeerMemory::map(descriptor.get(), segment.bytes(), peer).isOk());
    EXPECT_NE(segment.base(), peer.base());
    EXPECT_EQ(42, peer.base()[kBytes - 1]);
    EXPECT_EQ(2, left().mappings);
    EXPECT_EQ(4, left().descriptors) << "of the allocation, the exported one, and one for each mapping";
    // The memory lives as long as a mapping of it exists.
    segment.reset();
    descriptor.reset();
    peer.base()[0] = 43;
    EXPECT_EQ(1, left().mappings);
    EXPECT_EQ(1, left().descriptors);
    PeerMemory moved = std::move(peer);
    EXPECT_EQ(43, moved.base()[0]);
    peer = std::move(moved);
    EXPECT_EQ(43, peer.base()[0]);
  }
  expectNothingLeft();
}

TEST(DescriptorMemory, ARefusalLeavesNothing) {
  const device::DeviceGuard guard(0);
  {
    const Sharing sharing("handles");
    DeviceSegment segment;
    UniqueFd descriptor;
    const Status status = DeviceSegment::behindDescriptor(kBytes, segment, descriptor);
    EXPECT_NE(std::string::npos, status.message().find("has no file descriptors of memory"));
    EXPECT_FALSE(descriptor);
  }
  {
    const Sharing sharing("descriptors,no-export");
    DeviceSegment segment;
    UniqueFd descriptor;
    const Status status = DeviceSegment::behindDescriptor(kBytes, segment, descriptor);
    EXPECT_NE(std::string::npos, status.message().find("cuMemExportToShareableHandle"));
    EXPECT_FALSE(segment.hasDescriptor());
    EXPECT_FALSE(descriptor);
  }
  {
    const Sharing sharing("descriptors");
    DeviceSegment segment;
    UniqueFd descriptor;
    ASSERT_TRUE(DeviceSegment::behindDescriptor(kBytes, segment, descriptor).isOk());
    PeerMemory peer;
    EXPECT_FALSE(PeerMemory::map(descriptor.get(), segment.bytes() + 4096, peer).isOk());
    EXPECT_FALSE(PeerMemory::map(-1, segment.bytes(), peer).isOk());
    const Sharing refusing("descriptors,no-import");
    EXPECT_FALSE(PeerMemory::map(descriptor.get(), segment.bytes(), peer).isOk());
    EXPECT_EQ(nullptr, peer.base());
  }
  expectNothingLeft();
}

// Two ranks of one process. They use each other's pointers, whether or not the memory has descriptors.
class Ranks {
 public:
  explicit Ranks(bool descriptors) {
    static uint64_t communicators = uint64_t{1} << 40;
    ++communicators;
    for (int rank = 0; rank < 2; ++rank) {
      device::DeviceCommunicatorConfig config;
      config.rank = rank;
      config.size = 2;
      config.channels = 2;
      config.device = rank;
      config.threads = 64;
      config.simpleSlotBytes = 4096;
      config.llSlotBytes = config.ll128SlotBytes = 1024;
      config.token[0] = communicators;
      config.descriptors = descriptors;
      expectOk(device::DeviceCommunicator::create(config, ranks_[rank]));
      for (int channel = 0; channel < 2; ++channel) {
        expectOk(ranks_[rank]->setRing(channel, {0, 1}));
        expectOk(ranks_[rank]->setTree(channel, rank - 1, rank == 0 ? std::vector<int>{1} : std::vector<int>{}));
      }
    }
    introduce();
  }

  device::DeviceCommunicator& operator[](int rank) { return *ranks_[rank]; }

  void introduce() {
    for (int rank = 0; rank < 2; ++rank) expectOk(ranks_[rank]->connectInfo(infos_[rank]));
  }

  void connect() {
    for (int rank = 0; rank < 2; ++rank) {
      expectOk(ranks_[rank]->connect(1 - rank, infos_[1 - rank]));
      expectOk(ranks_[rank]->prepare(true, nullptr));
    }
  }

  void sumUp() {
    std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(5000, 7));
    std::vector<device::Issued> issued;
    for (int rank = 0; rank < 2; ++rank) {
      issued.push_back(ranks_[rank]->run({Collective::AllReduce, DataType::Int32, ReduceOp::Sum},
                                         choiceOf(Algorithm::Ring, Protocol::Simple, 2), buffers[rank].data(),
                                         buffers[rank].data(), 5000, 0, 60'000'000'000, ranks_[rank]->ownStream()));
    }
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_EQ(Code::Ok, issued[rank].code) << ranks_[rank]->lastError();
      for (bool done = false; !done; ::usleep(20)) {
        ASSERT_EQ(Code::Ok, ranks_[rank]->query(issued[rank].number, done)) << ranks_[rank]->lastError();
      }
      EXPECT_EQ(std::vector<int32_t>(5000, 14), buffers[rank]);
    }
  }

  // Returns the information of rank 0 as if rank 0 were a rank of another process.
  std::vector<uint8_t> ofAnotherProcess() {
    std::vector<uint8_t> info = infos_[0];
    info[16] ^= 1;  // the process number, after magic and base
    return info;
  }

 private:
  static void expectOk(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  std::unique_ptr<device::DeviceCommunicator> ranks_[2];
  std::vector<uint8_t> infos_[2];
};

TEST(DescriptorMemory, CommunicatorsUseItAndReleaseIt) {
  const Sharing sharing("descriptors");
  for (int round = 0; round < 3; ++round) {
    Ranks ranks(true);
    EXPECT_EQ("file descriptor (cuMemCreate)", ranks[0].handleExchange());
    const UniqueFd taken(ranks[0].takeDescriptor());
    EXPECT_TRUE(taken);
    EXPECT_EQ(-1, ranks[0].takeDescriptor());
    ranks.connect();
    ranks.sumUp();
  }
  expectNothingLeft();
}

// The slots of forwarded connections are part of the segment, and network adapters use them.
TEST(DescriptorMemory, AdaptersUseIt) {
  const Sharing sharing("descriptors");
  device::DeviceCommunicatorConfig config;
  config.size = 2;
  config.threads = 64;
  config.token[0] = 99;
  config.descriptors = true;
  std::unique_ptr<device::DeviceCommunicator> communicator;
  ASSERT_TRUE(device::DeviceCommunicator::create(config, communicator).isOk());
  ASSERT_TRUE(communicator->setRing(0, {0, 1}).isOk());
  communicator->setForwarded(3);
  std::vector<uint8_t> info;
  ASSERT_TRUE(communicator->connectInfo(info).isOk());
  const UniqueFd descriptor(communicator->takeDescriptor());
  ASSERT_TRUE(descriptor);
  std::shared_ptr<device::AdapterMemory> slots;
  ASSERT_TRUE(communicator->forwardedSlots(slots).isOk());
  EXPECT_GE(slots->dmabuf(), 0);
  EXPECT_EQ(slots->bytes() % 65536, 0u);
  // The slots outlive the communicator, until the adapter's side releases them.
  std::memset(slots->base(), 1, slots->bytes());
  communicator.reset();
  EXPECT_EQ(slots->base()[slots->bytes() - 1], 1);
}

TEST(DescriptorMemory, ARankOfAnotherProcessIsMappedOrRefused) {
  {
    const Sharing sharing("descriptors");
    Ranks ranks(true);
    const int descriptor = ranks[0].takeDescriptor();
    EXPECT_TRUE(ranks[1].connect(0, ranks.ofAnotherProcess(), ::dup(descriptor)).isOk());
    EXPECT_FALSE(ranks[1].refusedDescriptor());
    EXPECT_EQ(3, left().mappings);
    const Status without = ranks[1].connect(0, ranks.ofAnotherProcess());
    EXPECT_NE(std::string::npos,
              without.message().find("rank=0: the descriptor of its device memory: it was not received"));
    EXPECT_TRUE(ranks[1].refusedDescriptor());
    ::close(descriptor);
    // All ranks start again, without descriptors.
    for (int rank = 0; rank < 2; ++rank) ranks[rank].renounceDescriptors("rank 1 was refused one");
    EXPECT_EQ(0, left().mappings);
    ranks.introduce();
    EXPECT_FALSE(ranks[1].refusedDescriptor());
    EXPECT_EQ("none: cuIpcGetMemHandle: CUDA_ERROR_NOT_SUPPORTED; no file descriptor: rank 1 was refused one",
              ranks[1].handleExchange());
    EXPECT_EQ(-1, ranks[1].takeDescriptor());
    const Status neither = ranks[1].connect(0, ranks.ofAnotherProcess());
    EXPECT_NE(std::string::npos, neither.message().find("its driver cannot share device memory with other processes"));
    EXPECT_FALSE(ranks[1].refusedDescriptor());
    ranks.connect();
    ranks.sumUp();
  }
  expectNothingLeft();
}

// Lengths that other ranks send are checked.
TEST(DescriptorMemory, AShortDescriptorIsRefused) {
  const Sharing sharing("descriptors");
  Ranks ranks(true);
  std::vector<uint8_t> info = ranks.ofAnotherProcess();
  UniqueFd small(::memfd_create("small", MFD_CLOEXEC));
  ASSERT_EQ(0, ::ftruncate(small.get(), 4096));
  EXPECT_FALSE(ranks[1].connect(0, info, small.release()).isOk());
  EXPECT_TRUE(ranks[1].refusedDescriptor());
}

}  // namespace
}  // namespace jccl::test::descriptor_memory_test
