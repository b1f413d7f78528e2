// Tests of in-place operations on registered buffers, between ranks that treat each other as ranks of other processes.
// A rank maps another rank's memory at a different address, which only the mapping rank's device may access. No device
// may access the memory of another "process" at the owner's address.
#include <cstring>
#include <memory>

#include "cuda/driver/driver.h"
#include "cuda/runtime/driver_values.h"
#include "cuda/runtime/virtual_memory.h"
#include "cuda/test/application.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/left_memory.h"
#include "cuda/test/registered_ranks.h"

namespace jccl::test::registered_buffers_test {
namespace {

using device::DeviceCommunicator;
using device::Issued;
using driver::driver;
using driver::Result;

constexpr int64_t kQuickNanos = 50'000'000;
constexpr size_t kUnit = size_t{2} << 20;

// Memory that an application allocates by cuMemCreate. The devices of all ranks of its process may access it.
class Memory {
 public:
  Memory(const Layout& layout, int rank, size_t bytes, bool shareable = true)
      : device_(layout.deviceOf(rank)), bytes_((bytes + kUnit - 1) / kUnit * kUnit), shareable_(shareable) {
    for (int peer = 0; peer < layout.size(); ++peer) {
      if (layout.processes[peer] == layout.processes[rank]) users_.push_back(device::userOn(layout.deviceOf(peer)));
    }
    driver::Address address = 0;
    Application(device_).here([&] {
      const driver::Allocation allocation = create();
      void* memory = nullptr;
      const Status status = device::mapAllocation(allocation, bytes_, kUnit, users_, "", memory);
      (void)driver().allocationRelease(allocation);
      address = device::addressOf(memory);
      return status;
    });
    address_ = address;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    Application(device_).here([&] { return device::unmapAllocation(device::pointerOf(address_), bytes_); });
  }

  // Frees the memory and allocates other memory at the same address.
  void replace() {
    Application(device_).here([&] {
      EXPECT_EQ(driver().memoryUnmap(address_, bytes_), Result::Success);
      const driver::Allocation allocation = create();
      EXPECT_EQ(driver().memoryMap(address_, bytes_, 0, allocation, 0), Result::Success);
      EXPECT_EQ(driver().memoryAccess(address_, bytes_, users_.data(), users_.size()), Result::Success);
      (void)driver().allocationRelease(allocation);
      return Status::ok();
    });
  }

  template <class T = float>
  T* at(size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<uint8_t*>(device::pointerOf(address_)) + offset);
  }
  size_t bytes() const { return bytes_; }

 private:
  driver::Allocation create() const {
    const driver::AllocationProperties properties = device::allocationOn(device_, shareable_);
    driver::Allocation allocation = 0;
    EXPECT_EQ(driver().allocationCreate(&allocation, bytes_, &properties, 0), Result::Success);
    return allocation;
  }

  int device_;
  size_t bytes_;
  bool shareable_;
  std::vector<driver::MemoryAccess> users_;
  driver::Address address_ = 0;
};

class RegisteredBuffers : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1); }
  void TearDown() override {
    ::unsetenv("JCCL_EMULATED_SHARING");
    expectNothingLeft();
  }

  static float valueOf(int rank, size_t i) {
    return static_cast<float>(i % 1000) / 7.0f + static_cast<float>(rank) / 3;
  }
  static void fill(float* memory, int rank, size_t count) {
    for (size_t i = 0; i < count; ++i) memory[i] = valueOf(rank, i);
  }
};

const Layout kLayouts[] = {{{0, 1}}, {{0, 1, 2}}, {{0, 1, 2, 3}}, {{0, 0, 1}}, {{0, 0, 1, 1}}};

struct Case {
  OperationCode code;
  size_t count;
  bool overwrites;
};
const OperationCode kOf[] = {{Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                             {Collective::AllReduce, DataType::Float32, ReduceOp::Avg},
                             {Collective::AllGather, DataType::Float32, ReduceOp::Sum},
                             {Collective::ReduceScatter, DataType::Float32, ReduceOp::Avg}};

size_t wholeOf(const Case& one, int size) {
  return one.code.collective == Collective::AllReduce ? one.count : one.count * static_cast<size_t>(size);
}

// Returns the results of ranks that are threads of one process.
std::vector<std::vector<float>> expectedOf(const Case& one, int size, void (*fill)(float*, int, size_t)) {
  const size_t whole = wholeOf(one, size);
  DeviceRuntimeRanks ranks(size, 2, 2);
  std::vector<std::vector<float>> sends(size, std::vector<float>(whole)), recvs(size, std::vector<float>(whole));
  std::vector<Issued> issued;
  for (int rank = 0; rank < size; ++rank) {
    fill(sends[rank].data(), rank, whole);
    issued.push_back(ranks.rank(rank).run(
        one.code, kInPlace, sends[rank].data(), one.overwrites ? sends[rank].data() : recvs[rank].data(),
        static_cast<int64_t>(one.count), 0, kRuntimeLimitNanos, ranks.rank(rank).ownStream()));
  }
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  return one.overwrites ? sends : recvs;
}

// Each rank uses parts of its registered buffer, at different offsets; in the second pass, one buffer of the last rank
// is not registered. The results must equal, bit for bit, those of ranks that reach each other's memory at its own
// address.
TEST_F(RegisteredBuffers, EveryInPlaceCollectiveEqualsThatOfThreadsBitForBit) {
  constexpr size_t kBytes = size_t{4} << 20;
  for (const Layout& layout : kLayouts) {
    const int size = layout.size();
    RegisteredRanks ranks(layout);
    std::vector<std::unique_ptr<Memory>> memories, others;
    std::vector<void*> buffers;
    for (int rank = 0; rank < size; ++rank) {
      memories.push_back(std::make_unique<Memory>(layout, rank, kBytes));
      others.push_back(std::make_unique<Memory>(layout, rank, kBytes));
      buffers.push_back(memories[rank]->at<void>(4096 * static_cast<size_t>(rank)));
    }
    EXPECT_EQ(ranks.rank(0).adjustChoice(kInPlace, kSum.collective).flags & Choice::kZeroCopyUsed, 0);
    std::vector<uint64_t> numbers;
    const Status status = ranks.registerAll(buffers, kBytes - 16384, numbers);
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_NE(ranks.rank(0).adjustChoice(kInPlace, kSum.collective).flags & Choice::kZeroCopyUsed, 0);
    for (const bool allRegistered : {true, false}) {
      for (const OperationCode& code : kOf) {
        for (const size_t count : {size_t{1000}, size_t{90'001}}) {
          const bool reduces = code.collective == Collective::AllReduce;
          for (const bool overwrites : {false, true}) {
            if (overwrites && !reduces) continue;
            const Case one{code, count, overwrites};
            const size_t whole = wholeOf(one, size);
            const auto expected = expectedOf(one, size, fill);
            std::vector<float*> recvs;
            std::vector<Issued> issued;
            for (int rank = 0; rank < size; ++rank) {
              const size_t skip = 16 * static_cast<size_t>(rank) + 4;
              float* send = reinterpret_cast<float*>(static_cast<uint8_t*>(buffers[rank]) + skip);
              float* recv = reinterpret_cast<float*>(static_cast<uint8_t*>(buffers[rank]) + kBytes / 2 + skip);
              if (!allRegistered && rank == size - 1)
                (code.collective == Collective::AllGather ? recv : send) = others[rank]->at();
              if (overwrites) recv = send;
              fill(send, rank, whole);
              if (!overwrites) std::memset(recv, 0, whole * sizeof(float));
              recvs.push_back(recv);
              issued.push_back(ranks.issue(rank, code, send, recv, count));
            }
            ranks.awaitAll(issued);
            const size_t results = code.collective == Collective::ReduceScatter ? count : whole;
            for (int rank = 0; rank < size; ++rank) {
              ASSERT_EQ(std::memcmp(recvs[rank], expected[rank].data(), results * sizeof(float)), 0)
                  << "rank=" << rank << " size=" << size << " count=" << count << " registered=" << allRegistered;
            }
          }
        }
      }
      for (int rank = 0; rank < size; ++rank) {
        const std::string notice = ranks.rank(rank).takeNotice();
        EXPECT_EQ(notice.empty(), allRegistered || rank != size - 1) << notice;
        EXPECT_EQ(notice.empty(), notice.find("register it on all ranks") == std::string::npos) << notice;
      }
    }
    ranks.closeAll(numbers);
    EXPECT_EQ(ranks.rank(0).adjustChoice(kInPlace, kSum.collective).flags & Choice::kZeroCopyUsed, 0);
  }
}

// Two ranks in two processes, and the memory that each of them registers.
class TwoProcesses : public RegisteredBuffers {
 protected:
  static constexpr size_t kCount = 100'000;  // large enough for two-shot

  void SetUp() override {
    RegisteredBuffers::SetUp();
    ranks_ = std::make_unique<RegisteredRanks>(kPair);
    for (int rank = 0; rank < 2; ++rank) memories_.push_back(std::make_unique<Memory>(kPair, rank, kUnit));
  }
  void TearDown() override {
    ranks_.reset();
    memories_.clear();
    RegisteredBuffers::TearDown();
  }

  Status registerBoth(std::vector<uint64_t>& numbers) {
    return ranks_->registerAll({memories_[0]->at<void>(), memories_[1]->at<void>()}, memories_[0]->bytes(), numbers);
  }
  void fillBoth() {
    for (int rank = 0; rank < 2; ++rank) fill(memories_[rank]->at(), rank, kCount);
  }
  Issued issueSum(int rank) { return ranks_->issue(rank, kSum, memories_[rank]->at(), memories_[rank]->at(), kCount); }
  void expectSums(float times = 1) {
    for (int rank = 0; rank < 2; ++rank) {
      for (size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(memories_[rank]->at()[i], times * (valueOf(0, i) + valueOf(1, i))) << "rank=" << rank << " i=" << i;
      }
    }
  }

  const Layout kPair{{0, 1}};
  std::unique_ptr<RegisteredRanks> ranks_;
  std::vector<std::unique_ptr<Memory>> memories_;
};

// Peers still map the memory that was freed.
TEST_F(TwoProcesses, NewMemoryAtTheSameAddressIsNotTakenForRegisteredMemory) {
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(registerBoth(numbers).isOk());
  for (const bool replaced : {false, true}) {
    if (replaced) memories_[1]->replace();
    fillBoth();
    ranks_->awaitAll({issueSum(0), issueSum(1)});
    expectSums();
    EXPECT_FALSE(ranks_->rank(0).hasNotice());
    EXPECT_EQ(ranks_->rank(1).takeNotice().find("is not registered, or was freed since") != std::string::npos,
              replaced);
  }
  ranks_->closeAll(numbers);
}

TEST_F(TwoProcesses, AnAllocationIsOpenedOnceAndClosedWithItsLastBuffer) {
  const int before = left().mappings;
  std::vector<uint64_t> whole, part, again;
  ASSERT_TRUE(registerBoth(whole).isOk());
  EXPECT_EQ(left().mappings, before + 2);
  ASSERT_TRUE(ranks_->registerAll({memories_[0]->at<void>(512), memories_[1]->at<void>()}, 4096, part).isOk());
  EXPECT_EQ(left().mappings, before + 2);
  ranks_->closeAll(whole);
  EXPECT_EQ(left().mappings, before + 2);
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    float* buffer = memories_[rank]->at(rank == 0 ? 512 : 0);
    fill(buffer, rank, 1000);
    issued.push_back(ranks_->issue(rank, kSum, buffer, buffer, 1000));
  }
  ranks_->awaitAll(issued);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(memories_[1]->at()[i], valueOf(0, i) + valueOf(1, i));
  EXPECT_FALSE(ranks_->rank(0).hasNotice());
  ranks_->closeAll(part);
  EXPECT_EQ(left().mappings, before);
  ASSERT_TRUE(registerBoth(again).isOk());
  EXPECT_EQ(left().mappings, before + 2) << "what was closed is opened again";
  EXPECT_NE(
      ranks_->rank(0).closeBuffer(whole[0], kRuntimeLimitNanos).message().find("expected that of a registered buffer"),
      std::string::npos);
}

// A communicator whose kernels are in flight all the time keeps the memory of its own device only.
TEST_F(RegisteredBuffers, ACommunicatorThatIsBusyOnAnotherDeviceHoldsUpNoClosing) {
  constexpr size_t kCount = 1000;
  DeviceRuntimeRanks busy(2, 2, 1);
  Buffers buffers(2, kCount);
  const auto issueBusy = [&](int rank) {
    return allReduce(busy, rank, buffers, onTwoChannels(Algorithm::Ring, Protocol::Simple),
                     busy.rank(rank).ownStream());
  };
  const Left before = left();
  const Layout elsewhere{{0, 1}, 1, 1};
  auto ranks = std::make_unique<RegisteredRanks>(elsewhere);
  const Memory first(elsewhere, 0, kUnit), second(elsewhere, 1, kUnit);
  const Left unregistered = left();
  Issued last = issueBusy(0);
  for (int round = 0; round < 3; ++round) {
    const Issued ended = last;
    last = issueBusy(0);  // the first rank is always one operation ahead, so one of its kernels is in flight
    EXPECT_EQ(busy.await(1, issueBusy(1)), Code::Ok);
    EXPECT_EQ(busy.await(0, ended), Code::Ok);
    std::vector<uint64_t> numbers;
    const Status registered = ranks->registerAll({first.at<void>(), second.at<void>()}, 4096, numbers);
    ASSERT_TRUE(registered.isOk()) << registered.message();
    EXPECT_EQ(left().mappings, unregistered.mappings + 2);
    ranks->closeAll(numbers);
    EXPECT_EQ(left().mappings, unregistered.mappings);
  }
  ranks.reset();
  EXPECT_EQ(left().mappings, before.mappings + 2) << "the buffers of the application stay";
  EXPECT_EQ(busy.await(1, issueBusy(1)), Code::Ok);
  EXPECT_EQ(busy.await(0, last), Code::Ok);
}

// Operations of a communicator that nobody asks for results have ended all the same, also on the device whose memory is
// to be unmapped.
TEST_F(RegisteredBuffers, ACommunicatorThatNobodyAsksHoldsUpNoClosingOnItsDevice) {
  const Layout layout{{0, 1}, 1, 1};
  DeviceRuntimeRanks silent(2, 2, 1, {}, layout.firstDevice);
  Buffers buffers(2, 1000);
  auto ranks = std::make_unique<RegisteredRanks>(layout);
  const Memory first(layout, 0, kUnit), second(layout, 1, kUnit);
  const Left unregistered = left();
  for (int rank = 0; rank < 2; ++rank) {
    const Issued issued = allReduce(silent, rank, buffers, onTwoChannels(Algorithm::Ring, Protocol::Simple),
                                    silent.rank(rank).ownStream());
    ASSERT_EQ(issued.code, Code::Ok) << silent.rank(rank).lastError();
  }
  std::vector<uint64_t> numbers;
  const Status registered = ranks->registerAll({first.at<void>(), second.at<void>()}, 4096, numbers);
  ASSERT_TRUE(registered.isOk()) << registered.message();
  EXPECT_EQ(left().mappings, unregistered.mappings + 2);
  ranks->closeAll(numbers);
  EXPECT_EQ(left().mappings, unregistered.mappings);
}

// Memory is not unmapped while a kernel uses it. The kernel's operation and later ones continue.
TEST_F(TwoProcesses, ABufferThatIsClosedInFlightStaysMapped) {
  const int before = left().mappings;
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(registerBoth(numbers).isOk());
  fillBoth();
  const Issued first = issueSum(0);
  const Status closed = ranks_->rank(0).closeBuffer(numbers[0], kQuickNanos);
  EXPECT_EQ(closed.code(), Code::Timeout);
  EXPECT_NE(closed.message().find("wait for the operations of all its communicators first"), std::string::npos);
  EXPECT_EQ(left().mappings, before + 2);
  ranks_->awaitAll({first, issueSum(1)});
  expectSums();
  EXPECT_TRUE(ranks_->rank(1).closeBuffer(numbers[1], kRuntimeLimitNanos).isOk());
  EXPECT_EQ(left().mappings, before) << "also what the other rank has retired";
}

TEST_F(TwoProcesses, CapturedAndGroupedOperationsUseRegisteredBuffers) {
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(registerBoth(numbers).isOk());
  fillBoth();
  device::Graph graphs[2];
  for (int rank = 0; rank < 2; ++rank) {
    DeviceCommunicator& one = ranks_->rank(rank);
    Application(rank).beginCapture(one.ownStream());
    one.beginGroup();
    EXPECT_EQ(issueSum(rank).code, Code::Ok);
    EXPECT_EQ(issueSum(rank).code, Code::Ok);
    EXPECT_EQ(one.endGroup(kRuntimeLimitNanos, one.ownStream()).code, Code::Ok);
    graphs[rank] = Application(rank).endCapture(one.ownStream());
  }
  for (int replay = 0; replay < 2; ++replay) {
    for (int rank = 0; rank < 2; ++rank) Application(rank).replay(graphs[rank], ranks_->rank(rank).ownStream());
  }
  for (int rank = 0; rank < 2; ++rank) {
    Application(rank).synchronize(ranks_->rank(rank).ownStream());
    EXPECT_EQ(ranks_->rank(rank).failure(), Code::Ok) << ranks_->rank(rank).lastError();
    EXPECT_FALSE(ranks_->rank(rank).hasNotice());
  }
  expectSums(8);
  for (int rank = 0; rank < 2; ++rank) Application(rank).destroyGraph(graphs[rank]);
  ranks_->closeAll(numbers);
}

TEST_F(TwoProcesses, VFormsUseRegisteredBuffers) {
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(registerBoth(numbers).isOk());
  const std::vector<int64_t> counts{10, 90'000, 0, 10};  // two counts, then two displacements
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    float* buffer = memories_[rank]->at();
    fill(buffer, rank, kCount);
    float* own = buffer + (rank == 0 ? 0 : counts[0]);
    issued.push_back(ranks_->rank(rank).runV({Collective::AllGather, DataType::Float32, ReduceOp::Sum}, kInPlace, own,
                                             buffer, counts, 0, kRuntimeLimitNanos, ranks_->rank(rank).ownStream()));
  }
  ranks_->awaitAll(issued);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_FALSE(ranks_->rank(rank).hasNotice());
    for (size_t i = 0; i < 90'010; ++i) ASSERT_EQ(memories_[rank]->at()[i], valueOf(i < 10 ? 0 : 1, i)) << i;
  }
  ranks_->closeAll(numbers);
}

TEST_F(TwoProcesses, MemoryThatPeersCannotOpenIsRefusedWithARemedy) {
  const int before = left().mappings;
  const Memory own(kPair, 1, kUnit, false), foreign(kPair, 0, kUnit);
  void *pool = nullptr, *managed = nullptr, *plain = nullptr, *pinned = nullptr;
  Application(1).here([&] {
    driver::Context context = nullptr;
    EXPECT_EQ(driver().primaryContext(&context, 1), Result::Success);
    EXPECT_TRUE(emulator::allocateFromPool(context, 4096, pool).isOk());
    EXPECT_TRUE(emulator::allocateManaged(context, 4096, managed).isOk());
    EXPECT_TRUE(device::allocatePinned(4096, pinned).isOk());
    return device::allocate(4096, plain);
  });
  std::vector<char> unknown(4096);
  const struct {
    void* memory;
    size_t bytes;
    const char* why;
  } kRefused[] = {
      {own.at<void>(), 4096, "cuMemExportToShareableHandle: CUDA_ERROR_INVALID_VALUE"},
      {foreign.at<void>(), 4096, "is memory of device=0, that of this rank is device=1"},
      {pool, 4096, "cuMemRetainAllocationHandle: CUDA_ERROR_INVALID_VALUE"},
      {managed, 4096, "is managed memory"},
      {plain, 4096, "cuIpcGetMemHandle: CUDA_ERROR_NOT_SUPPORTED"},
      {pinned, 4096, "is memory of the host"},
      {unknown.data(), 4096, "the driver knows no memory there"},
      {memories_[1]->at<void>(4096), memories_[1]->bytes(), "is more than its allocation of bytes="},
      {memories_[1]->at<void>(), 0, "is empty"},
  };
  for (const auto& one : kRefused) {
    std::vector<uint8_t> info;
    const Status status = ranks_->rank(1).describeBuffer(one.memory, one.bytes, info);
    EXPECT_EQ(status.code(), Code::Invalid) << one.why;
    EXPECT_NE(status.message().find(one.why), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("allocate it so"), std::string::npos) << status.message();
  }
  EXPECT_EQ(left().mappings, before + 1) << "`own` cannot be shared";
  for (void* memory : {pool, managed, plain}) {
    Application(1).here([&] { return device::release(memory); });
  }
  Application(1).here([&] { return device::releasePinned(pinned); });
}

TEST_F(TwoProcesses, ABufferThatOneRankCannotOpenIsDroppedByAll) {
  const int before = left().mappings;
  std::vector<uint64_t> numbers;
  ::setenv("JCCL_EMULATED_SHARING", "descriptors,no-import", 1);
  const Status status = registerBoth(numbers);
  EXPECT_NE(status.message().find("buffer of rank=1 cannot be opened: cuMemImportFromShareableHandle"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(left().mappings, before);
  ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1);
  EXPECT_TRUE(registerBoth(numbers).isOk());
  ranks_->closeAll(numbers);
}

// Descriptions come from other ranks and are not trusted.
TEST_F(TwoProcesses, DescriptionsAreChecked) {
  std::vector<uint8_t> info, own;
  DeviceCommunicator &one = ranks_->rank(0), &other = ranks_->rank(1);
  uint64_t here = 0;
  const auto open = [&](const std::vector<uint8_t>& bytes) {
    return one.openBuffer(1, bytes, {}, kRuntimeLimitNanos, here).message();
  };
  ASSERT_TRUE(other.describeBuffer(memories_[1]->at<void>(4096), 4096, info).isOk());
  EXPECT_NE(open(info).find("describe one first"), std::string::npos);
  ASSERT_TRUE(one.describeBuffer(memories_[0]->at<void>(), 4096, own).isOk());
  EXPECT_NE(open(info).find("its descriptor was not received"), std::string::npos);
  EXPECT_NE(open(own).find("rank=0, expected 1"), std::string::npos);
  EXPECT_NE(open({1, 2, 3}).find("infoBytes=3"), std::string::npos);
  std::vector<uint8_t> changed = info;
  changed[0] ^= 1;
  EXPECT_NE(open(changed).find("magic="), std::string::npos);
  changed = info;
  changed[24 + 5] = 1;  // in `bytes`, which follows magic, rank, byDescriptor and address
  EXPECT_NE(open(changed).find("allocationBytes="), std::string::npos);
  uint64_t number = 0;
  EXPECT_FALSE(one.useBuffer({0}, number).isOk());
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(ranks_->rank(rank).dropBuffer(kRuntimeLimitNanos).isOk());
  EXPECT_NE(one.useBuffer({0, 0}, number).message().find("a buffer that was described"), std::string::npos);
}

TEST(RegisteredBuffersOfThreads, AreRefused) {
  DeviceRuntimeRanks ranks(2);
  std::vector<uint8_t> info;
  std::vector<float> buffer(10);
  EXPECT_NE(ranks.rank(0).describeBuffer(buffer.data(), 40, info).message().find("expected ranks in several processes"),
            std::string::npos);
}

TEST(AccessPage, IsReleasedByAnAnswerOrTheEndOfItsProcess) {
  const uint64_t token[2] = {1, 2}, other[2] = {1, 3};
  device::AccessPage own, seen, wrong;
  UniqueFd descriptor;
  ASSERT_TRUE(device::AccessPage::make(token, 3, own, descriptor).isOk());
  const auto passed = [&] { return UniqueFd(::dup(descriptor.get())); };
  EXPECT_NE(device::AccessPage::open(passed(), token, 4, wrong).message().find("expected that of rank=4"),
            std::string::npos);
  EXPECT_FALSE(device::AccessPage::open(passed(), other, 3, wrong).isOk());
  EXPECT_FALSE(device::AccessPage::open(UniqueFd(), token, 3, wrong).isOk());
  ASSERT_TRUE(device::AccessPage::open(passed(), token, 3, seen).isOk());
  descriptor.reset();
  EXPECT_FALSE(own.awaitsAnswer());
  seen.revoke();
  EXPECT_TRUE(own.awaitsAnswer());
  EXPECT_FALSE(seen.isReleased());
  own.answer();
  EXPECT_FALSE(own.awaitsAnswer());
  EXPECT_TRUE(seen.isReleased());

  device::AccessPage gone;
  ASSERT_TRUE(device::AccessPage::make(token, 3, gone, descriptor).isOk());
  ASSERT_TRUE(device::AccessPage::open(passed(), token, 3, seen).isOk());
  EXPECT_FALSE(seen.isReleased());
  gone = {};
  EXPECT_TRUE(seen.isReleased());
}

}  // namespace
}  // namespace jccl::test::registered_buffers_test
