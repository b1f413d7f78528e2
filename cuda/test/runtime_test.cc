// The runtime over emulated GPUs: what Java calls, without Java.
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/device_runtime_ranks.h"

namespace jccl::test {
namespace {

using device::Issued;
using emulator::EmulatedGpu;

constexpr int64_t kTimeoutNanos = 60'000'000'000;
constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

// Buffers of all ranks, filled so that the sum over ranks is known.
struct Buffers {
  Buffers(int size, size_t count) : ranks(size, std::vector<float>(count)) {
    for (int rank = 0; rank < size; ++rank) {
      for (size_t i = 0; i < count; ++i) ranks[rank][i] = static_cast<float>(i % 1000) + static_cast<float>(rank);
    }
  }
  // Whether every element is `times` the sum of what all ranks had.
  void expectSum(float times) const {
    const float n = static_cast<float>(ranks.size());
    for (const auto& rank : ranks) {
      for (size_t i = 0; i < rank.size(); ++i) {
        ASSERT_EQ(rank[i], times * (n * static_cast<float>(i % 1000) + n * (n - 1) / 2)) << i;
      }
    }
  }
  std::vector<std::vector<float>> ranks;
};

Issued allReduce(DeviceRuntimeRanks& ranks, int rank, Buffers& buffers, Choice choice, device::Stream stream,
                 int64_t timeoutNanos = kTimeoutNanos) {
  std::vector<float>& buffer = buffers.ranks[rank];
  return ranks.rank(rank).run(kSum, choice, buffer.data(), buffer.data(), static_cast<int64_t>(buffer.size()), 0,
                              timeoutNanos, stream);
}

Choice choiceOf(Algorithm algorithm, Protocol protocol, uint16_t flags = 0) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.protocol = protocol;
  choice.channels = 2;
  choice.flags = flags;
  return choice;
}

TEST(DeviceRuntime, AllReducesByEveryAlgorithmAndProtocol) {
  for (const int size : {1, 2, 4}) {
    DeviceRuntimeRanks ranks(size, 2, 2);
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
      for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
        for (const uint16_t flags : {uint16_t{0}, Choice::kTryZeroCopy}) {
          Buffers buffers(size, 5003);
          std::vector<Issued> issued;
          for (int rank = 0; rank < size; ++rank) {
            issued.push_back(
                allReduce(ranks, rank, buffers, choiceOf(algorithm, protocol, flags), ranks.rank(rank).ownStream()));
          }
          for (int rank = 0; rank < size; ++rank) {
            ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
          }
          buffers.expectSum(1);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(DeviceRuntime, EveryConnectionPassesItsSelfTest) {
  DeviceRuntimeRanks ranks(3, 2, 2);
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    std::vector<Status> results(3);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] { results[rank] = ranks.rank(rank).selfTest(protocol, kTimeoutNanos); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : results) EXPECT_TRUE(status.isOk()) << status.message();
  }
}

TEST(DeviceRuntime, SettlesWhatDoesNotFit) {
  DeviceRuntimeRanks ranks(2);
  device::DeviceCommunicator& rank = ranks.rank(0);
  const Choice direct = choiceOf(Algorithm::Direct, Protocol::LL, Choice::kTryZeroCopy);
  EXPECT_EQ(rank.settle(direct, Collective::AllReduce).flags, Choice::kZeroCopyUsed);
  EXPECT_EQ(rank.settle(direct, Collective::AllReduce).protocol, Protocol::Simple);
  EXPECT_EQ(rank.settle(direct, Collective::Broadcast).flags, 0);
  EXPECT_EQ(rank.settle(choiceOf(Algorithm::Tree, Protocol::LL), Collective::Reduce).algorithm, Algorithm::Ring);
  EXPECT_EQ(rank.settle(choiceOf(Algorithm::Ring, Protocol::LL), Collective::AllToAll).algorithm, Algorithm::Direct);
}

// Operations on several streams follow one another, because they share the communicator's connections.
TEST(DeviceRuntime, OperationsOnSeveralStreamsFollowOneAnother) {
  constexpr int kSize = 2;
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 777);
  EmulatedGpu& gpu = EmulatedGpu::ofThisProcess();
  std::vector<EmulatedGpu::Stream*> streams;
  std::vector<Issued> last(kSize);
  for (int i = 0; i < 2 * kSize; ++i) streams.push_back(gpu.createStream());
  for (int turn = 0; turn < 6; ++turn) {
    for (int rank = 0; rank < kSize; ++rank) {
      last[rank] =
          allReduce(ranks, rank, buffers, choiceOf(Algorithm::Ring, Protocol::Simple), streams[2 * rank + turn % 2]);
    }
  }
  for (int rank = 0; rank < kSize; ++rank) {
    ASSERT_EQ(ranks.await(rank, last[rank]), Code::Ok) << ranks.rank(rank).lastError();
  }
  buffers.expectSum(32);  // all further sums double
  for (EmulatedGpu::Stream* stream : streams) gpu.destroyStream(stream);
}

// Communicators know nothing of each other: on streams of their own their kernels run side by side, in whatever order the
// ranks issue them.
TEST(DeviceRuntime, SeveralCommunicatorsShareADevice) {
  constexpr int kSize = 2, kCommunicators = 3, kTurns = 5;
  EmulatedGpu& gpu = EmulatedGpu::ofThisProcess();
  std::vector<std::unique_ptr<DeviceRuntimeRanks>> communicators;
  std::vector<Buffers> buffers;
  std::vector<std::vector<Issued>> last(kCommunicators, std::vector<Issued>(kSize));
  std::vector<EmulatedGpu::Stream*> streams;
  for (int c = 0; c < kCommunicators; ++c) {
    communicators.push_back(std::make_unique<DeviceRuntimeRanks>(kSize));
    buffers.emplace_back(kSize, 600 + c);
  }
  for (int i = 0; i < 2 * kSize * kCommunicators; ++i) streams.push_back(gpu.createStream());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int rank = 0; rank < kSize; ++rank) {
      for (int i = 0; i < kCommunicators; ++i) {
        const int c = rank == 0 ? i : kCommunicators - 1 - i;
        const Protocol protocol = static_cast<Protocol>((turn + c) % kProtocolCount);
        last[c][rank] = allReduce(*communicators[c], rank, buffers[c], choiceOf(Algorithm::Ring, protocol),
                                  streams[2 * (c * kSize + rank) + turn % 2]);
      }
    }
  }
  for (int c = 0; c < kCommunicators; ++c) {
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_EQ(communicators[c]->await(rank, last[c][rank]), Code::Ok) << communicators[c]->rank(rank).lastError();
    }
    buffers[c].expectSum(1 << (kTurns - 1));
  }
  for (EmulatedGpu::Stream* stream : streams) gpu.destroyStream(stream);
}

TEST(DeviceRuntime, TwoRanksOnOneStreamAreRefused) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 8);
  EmulatedGpu::Stream* stream = EmulatedGpu::ofThisProcess().createStream();
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::LL);
  const Issued first = allReduce(ranks, 0, buffers, ring, stream);
  const Issued second = allReduce(ranks, 1, buffers, ring, stream);
  EXPECT_EQ(second.code, Code::Invalid);
  EXPECT_NE(ranks.rank(1).lastError().find("give rank=1 a stream of its own"), std::string::npos)
      << ranks.rank(1).lastError();
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, first), Code::Ok);
  EmulatedGpu::ofThisProcess().destroyStream(stream);
}

TEST(DeviceRuntime, AnotherRankMayUseAStreamThatHasTheHandleOfADestroyedOne) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 8);
  EmulatedGpu& gpu = EmulatedGpu::ofThisProcess();
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::LL);
  EmulatedGpu::Stream* first = gpu.createStream();
  const Issued ofFirst = allReduce(ranks, 0, buffers, ring, first);
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, ofFirst), Code::Ok);
  gpu.destroyStream(first);
  EmulatedGpu::Stream* second = gpu.createStream();
  ASSERT_EQ(second, first);
  const Issued ofSecond = allReduce(ranks, 1, buffers, ring, second);
  EXPECT_EQ(ofSecond.code, Code::Ok) << ranks.rank(1).lastError();
  EXPECT_EQ(allReduce(ranks, 0, buffers, ring, second).code, Code::Invalid);
  ASSERT_EQ(ranks.await(0, allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(1, ofSecond), Code::Ok);
  gpu.destroyStream(second);
}

// Counters advance on the device, so a captured launch can run any number of times, before and after others.
TEST(DeviceRuntime, ACapturedGraphIsReplayed) {
  constexpr int kSize = 2;
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 1234);
  EmulatedGpu& gpu = EmulatedGpu::ofThisProcess();
  for (const uint16_t flags : {uint16_t{0}, Choice::kTryZeroCopy}) {
    const Choice choice = choiceOf(flags == 0 ? Algorithm::Ring : Algorithm::Direct, Protocol::Simple, flags);
    std::vector<EmulatedGpu::Stream*> streams;
    std::vector<int> graphs;
    for (int rank = 0; rank < kSize; ++rank) {
      // The stream that the other choice was captured on is gone: a communicator is captured on one.
      streams.push_back(static_cast<EmulatedGpu::Stream*>(ranks.rank(rank).ownStream()));
      gpu.beginCapture(streams[rank]);
      const Issued issued = allReduce(ranks, rank, buffers, choice, streams[rank]);
      EXPECT_EQ(ranks.await(rank, issued), Code::Ok);
      graphs.push_back(gpu.endCapture(streams[rank]));
    }
    for (int replay = 0; replay < 2; ++replay) {
      for (int rank = 0; rank < kSize; ++rank) ASSERT_TRUE(gpu.replay(graphs[rank], streams[rank]).isOk());
    }
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_TRUE(gpu.synchronize(streams[rank]).isOk());
      ASSERT_EQ(ranks.rank(rank).failure(), Code::Ok) << ranks.rank(rank).lastError();
    }
  }
  buffers.expectSum(8);
}

TEST(DeviceRuntime, AbortEndsAKernelThatWaits) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100);
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::Simple);
  const Issued alone = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream());
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ranks.rank(0).waiting().empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  bool done = true;
  EXPECT_EQ(ranks.rank(0).query(alone.number, done), Code::Ok);
  EXPECT_FALSE(done);
  const auto start = std::chrono::steady_clock::now();
  ranks.rank(0).abort(Code::Aborted);
  EXPECT_EQ(ranks.await(0, alone), Code::Aborted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream()).code, Code::Aborted);
}

TEST(DeviceRuntime, TheTimeOutPassesOnTheDevice) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100);
  const Issued alone =
      allReduce(ranks, 0, buffers, choiceOf(Algorithm::Ring, Protocol::LL), ranks.rank(0).ownStream(), 50'000'000);
  EXPECT_EQ(ranks.await(0, alone), Code::Timeout);
  const std::string error = ranks.rank(0).lastError();
  EXPECT_NE(error.find("all_reduce type=float32 count=100 algorithm=ring protocol=ll"), std::string::npos) << error;
  EXPECT_NE(error.find("peer=1 protocol=ll"), std::string::npos) << error;
}

TEST(DeviceRuntime, DifferentOperationsAreAMismatch) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100), shorter(2, 99);
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::Simple);
  const Issued one = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream(), 2'000'000'000);
  const Issued other = allReduce(ranks, 1, shorter, ring, ranks.rank(1).ownStream(), 2'000'000'000);
  const Code codes[] = {ranks.await(0, one), ranks.await(1, other)};
  EXPECT_TRUE(codes[0] == Code::Mismatch || codes[1] == Code::Mismatch);
}

// Whoever is refused after it tells the others which operation it was.
TEST(DeviceRuntime, AFailureIsThatOfItsOperationBeforeAnybodyAsked) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100), shorter(2, 99);
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::Simple);
  const Issued first = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream());
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, first), Code::Ok);
  EXPECT_EQ(ranks.rank(0).failedSequence(), 0u);
  const Issued one = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream(), 2'000'000'000);
  const Issued other = allReduce(ranks, 1, shorter, ring, ranks.rank(1).ownStream(), 2'000'000'000);
  for (const int rank : {0, 1}) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (ranks.rank(rank).failure() == Code::Ok) {
      ASSERT_LT(std::chrono::steady_clock::now(), patience);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_NE(allReduce(ranks, rank, buffers, ring, ranks.rank(rank).ownStream()).code, Code::Ok);
    EXPECT_EQ(ranks.rank(rank).failedSequence(), 2u) << "rank=" << rank;
  }
  (void)ranks.await(0, one);
  (void)ranks.await(1, other);
}

}  // namespace
}  // namespace jccl::test
