// Counts what one operation costs the thread that issues it: calls of the driver and allocations of this library.
#include <array>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "cuda/test/application.h"
#include "cuda/test/device/call_counts.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::operation_costs {
namespace {

using emulator::CallCounts;

constinit thread_local uint64_t allocations = 0;

void* allocate(size_t bytes, size_t alignment) {
  if (!CallCounts::ofThisThread().isInside()) ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace
}  // namespace jccl::test::operation_costs

void* operator new(size_t bytes) {
  return jccl::test::operation_costs::allocate(bytes == 0 ? 1 : bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return jccl::test::operation_costs::allocate(bytes == 0 ? 1 : bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace jccl::test::operation_costs {
namespace {

struct Costs {
  std::string calls;
  uint64_t allocations = 0;
};

Costs costsOf(const std::function<void()>& body) {
  CallCounts::ofThisThread().reset();
  allocations = 0;
  body();
  const uint64_t allocated = allocations;
  return {CallCounts::ofThisThread().text(), allocated};
}

// Two ranks, each on a device of its own. One thread issues the operations of both; the costs are those of rank 0.
class OperationCosts : public ::testing::Test {
 protected:
  static constexpr int kSize = 2;
  static constexpr size_t kBytes = 256;

  void SetUp() override {
    for (int rank = 0; rank < kSize; ++rank) {
      for (auto& streams : streams_) streams[rank] = applications_[rank].createStream();
    }
    // The first operations fill caches of the library: facts about streams and buffers, and memory of queues.
    for (int i = 0; i < 4; ++i) {
      for (auto& streams : streams_) issueAndAwait(streams);
      issueAndAwait(own());
    }
  }
  void TearDown() override {
    for (int rank = 0; rank < kSize; ++rank) {
      for (auto& streams : streams_) applications_[rank].destroyStream(streams[rank]);
    }
  }

  using Streams = std::array<device::Stream, kSize>;
  Streams own() { return {ranks_.rank(0).ownStream(), ranks_.rank(1).ownStream()}; }

  void issue(int rank, const Streams& streams) {
    last_[rank] = allReduce(ranks_, rank, buffers_, choice_, streams[rank]);
    ASSERT_EQ(last_[rank].code, Code::Ok) << ranks_.rank(rank).lastError();
  }
  void await() {
    for (int rank = 0; rank < kSize; ++rank) ASSERT_EQ(ranks_.await(rank, last_[rank]), Code::Ok);
  }
  void issueAndAwait(const Streams& streams) {
    for (int rank = 0; rank < kSize; ++rank) issue(rank, streams);
    await();
  }
  // The costs of work of rank 0. The context of its device is current, as in an application of the CUDA runtime.
  Costs here(const std::function<void()>& body) {
    Costs costs;
    applications_[0].here([&] {
      costs = costsOf(body);
      return Status::ok();
    });
    return costs;
  }
  // The costs of an operation of rank 0; rank 1 issues its part, too.
  Costs issued(const Streams& streams) {
    const Costs costs = here([&] { issue(0, streams); });
    issue(1, streams);
    return costs;
  }
  void issueGroup(int rank, const Streams& streams) {
    device::DeviceCommunicator& one = ranks_.rank(rank);
    one.beginGroup();
    for (int i = 0; i < 8; ++i) {
      auto& buffer = group_[i].ranks[rank];
      const device::Issued held = one.run(kSum, choice_, buffer.data(), buffer.data(),
                                          static_cast<int64_t>(buffer.size()), 0, kRuntimeLimitNanos, streams[rank]);
      ASSERT_EQ(held.code, Code::Ok);
    }
    last_[rank] = one.endGroup(kRuntimeLimitNanos, streams[rank]);
    ASSERT_EQ(last_[rank].code, Code::Ok) << one.lastError();
  }

  const Application applications_[kSize] = {Application(0), Application(1)};
  Streams streams_[2];
  DeviceRuntimeRanks ranks_{kSize, 2, 2};
  Buffers buffers_{kSize, 64};
  std::vector<Buffers> group_{8, Buffers(kSize, 64)};
  Choice choice_ = onTwoChannels(Algorithm::Ring, Protocol::LL);
  device::Issued last_[kSize];
};

TEST_F(OperationCosts, OfAnOperationOnTheLibrarysStream) {
  const Costs costs = issued(own());
  await();
  EXPECT_EQ(costs.calls, "cuCtxGetCurrent, cuLaunchKernelEx, cuStreamIsCapturing");
  EXPECT_EQ(costs.allocations, 0u);
}

// A thread that no CUDA runtime has prepared, as threads of Java are.
TEST_F(OperationCosts, OfAnOperationOnAThreadWithoutAContext) {
  const Costs costs = costsOf([&] { issue(0, own()); });
  issue(1, own());
  await();
  EXPECT_EQ(costs.calls, "cuCtxGetCurrent, cuCtxPushCurrent, cuCtxPopCurrent, cuLaunchKernelEx, cuStreamIsCapturing");
  EXPECT_EQ(costs.allocations, 0u);
}

TEST_F(OperationCosts, OfAnOperationOnTheStreamOfThePreviousOne) {
  issueAndAwait(streams_[0]);
  const Costs costs = issued(streams_[0]);
  await();
  EXPECT_EQ(costs.calls, "cuCtxGetCurrent, cuLaunchKernelEx, cuStreamGetId, cuStreamIsCapturing");
  EXPECT_EQ(costs.allocations, 0u);
}

// The previous operation has not ended, so the operation has to wait for it.
TEST_F(OperationCosts, OfAnOperationOnAnotherStreamThanThePreviousOne) {
  issueAndAwait(streams_[0]);
  issue(0, streams_[0]);
  const Costs costs = here([&] { issue(0, streams_[1]); });
  for (const Streams& streams : streams_) issue(1, streams);
  await();
  EXPECT_EQ(costs.calls, "cuCtxGetCurrent, cuLaunchKernelEx, cuStreamGetId, cuStreamWaitValue32, cuStreamIsCapturing");
  EXPECT_EQ(costs.allocations, 0u);
}

TEST_F(OperationCosts, OfAnOperationInPlace) {
  choice_ = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);
  void* memory[kSize] = {};
  for (int rank = 0; rank < kSize; ++rank) {
    applications_[rank].here([&] { return device::allocate(kBytes, memory[rank]); });
  }
  const auto issueInPlace = [&](int rank) {
    last_[rank] = ranks_.rank(rank).run(kSum, choice_, memory[rank], memory[rank], kBytes / sizeof(float), 0,
                                        kRuntimeLimitNanos, own()[rank]);
    ASSERT_EQ(last_[rank].code, Code::Ok) << ranks_.rank(rank).lastError();
  };
  Costs costs;
  for (int i = 0; i < 2; ++i) {  // the first time, the library gets to know the memory
    costs = here([&] { issueInPlace(0); });
    issueInPlace(1);
    await();
  }
  for (int rank = 0; rank < kSize; ++rank) applications_[rank].here([&] { return device::release(memory[rank]); });
  EXPECT_EQ(costs.calls, "cuCtxGetCurrent, cuLaunchKernelEx, cuPointerGetAttribute, cuStreamIsCapturing");
  EXPECT_EQ(costs.allocations, 0u);
}

TEST_F(OperationCosts, OfAGroupOfEight) {
  for (int rank = 0; rank < kSize; ++rank) issueGroup(rank, own());
  await();
  const Costs costs = here([&] { issueGroup(0, own()); });
  issueGroup(1, own());
  await();
  EXPECT_EQ(costs.calls, "cuCtxGetCurrent, cuLaunchKernelEx, cuStreamIsCapturing");
  EXPECT_EQ(costs.allocations, 0u);
}

TEST_F(OperationCosts, OfACapturedOperation) {
  device::Graph graphs[kSize];
  Costs costs;
  for (int i = 0; i < 2; ++i) {
    for (int rank = 0; rank < kSize; ++rank) {
      applications_[rank].beginCapture(streams_[0][rank]);
      if (rank == 0) costs = here([&] { issue(0, streams_[0]); });
      if (rank != 0) issue(rank, streams_[0]);
      graphs[rank] = applications_[rank].endCapture(streams_[0][rank]);
    }
    for (int rank = 0; rank < kSize; ++rank) applications_[rank].replay(graphs[rank], streams_[0][rank]);
    for (int rank = 0; rank < kSize; ++rank) {
      applications_[rank].synchronize(streams_[0][rank]);
      applications_[rank].destroyGraph(graphs[rank]);
    }
  }
  EXPECT_EQ(costs.calls,
            "cuCtxGetCurrent, cuCtxGetDevice, cuLaunchKernelEx, cuStreamGetCtx, cuStreamWaitEvent, "
            "cuStreamIsCapturing, cuEventRecordWithFlags");
  EXPECT_EQ(costs.allocations, 0u);
}

// After its first capture, operations of a communicator and replays of its graphs follow one another.
TEST_F(OperationCosts, OfAnOperationAfterACapture) {
  for (int rank = 0; rank < kSize; ++rank) {
    applications_[rank].beginCapture(streams_[0][rank]);
    issue(rank, streams_[0]);
    applications_[rank].destroyGraph(applications_[rank].endCapture(streams_[0][rank]));
  }
  issueAndAwait(streams_[0]);
  const Costs costs = issued(streams_[0]);
  await();
  EXPECT_EQ(costs.calls,
            "cuCtxGetCurrent, cuLaunchKernelEx, cuStreamGetId, cuStreamWaitEvent, cuStreamIsCapturing, cuEventRecord");
  EXPECT_EQ(costs.allocations, 0u);
}

TEST_F(OperationCosts, OfAPoll) {
  device::DeviceCommunicator& rank = ranks_.rank(0);
  bool done = false;
  issue(0, own());
  Costs pending;
  for (int i = 0; i < 1000 && (i == 0 || !pending.calls.empty()); ++i) {  // every 5 ms, a poll asks the driver
    pending = costsOf([&] { (void)rank.query(last_[0].number, done); });
  }
  EXPECT_FALSE(done);
  EXPECT_EQ(pending.calls, "");
  EXPECT_EQ(pending.allocations, 0u);
  issue(1, own());
  applications_[0].synchronize(own()[0]);
  const Costs last = costsOf([&] { (void)rank.query(last_[0].number, done); });
  EXPECT_TRUE(done);
  EXPECT_EQ(last.calls, "");
  EXPECT_EQ(last.allocations, 0u);
  await();
}

}  // namespace
}  // namespace jccl::test::operation_costs
