// Tests of the device runtime on emulated GPUs, by the calls that Java makes.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "cuda/driver/driver.h"
#include "cuda/test/application.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::runtime_test {
namespace {

using device::Issued;
using emulator::EmulatedGpu;

TEST(DeviceRuntime, AllReducesByEveryAlgorithmAndProtocol) {
  for (const int size : {1, 2, 4}) {
    DeviceRuntimeRanks ranks(size, 2, 2);
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
      for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
        for (const uint16_t flags : {uint16_t{0}, Choice::kTryZeroCopy}) {
          Buffers buffers(size, 5003);
          std::vector<Issued> issued;
          for (int rank = 0; rank < size; ++rank) {
            issued.push_back(allReduce(ranks, rank, buffers, onTwoChannels(algorithm, protocol, flags),
                                       ranks.rank(rank).ownStream()));
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
      threads.emplace_back([&, rank] { results[rank] = ranks.rank(rank).selfTest(protocol, kRuntimeLimitNanos); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : results) EXPECT_TRUE(status.isOk()) << status.message();
  }
}

TEST(DeviceRuntime, KernelsRunInTheDomainOfRemoteMemoryIfTheGpuHasOne) {
  const emulator::EmulatedDriver& driver = emulator::EmulatedDriver::ofThisProcess();
  const bool remote = driver.chip().capability >= 90;
  const uint64_t before = driver.launches(remote), others = driver.launches(!remote);
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 777);
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    issued.push_back(
        allReduce(ranks, rank, buffers, onTwoChannels(Algorithm::Ring, Protocol::LL), ranks.rank(rank).ownStream()));
  }
  for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  buffers.expectSum(1);
  EXPECT_GT(driver.launches(remote), before);
  EXPECT_EQ(driver.launches(!remote), others);
}

// For a communicator of one rank the driver copies, whatever the operation.
TEST(DeviceRuntime, TheDriverCopiesForOneRank) {
  const emulator::EmulatedDriver& driver = emulator::EmulatedDriver::ofThisProcess();
  DeviceRuntimeRanks ranks(1);
  device::DeviceCommunicator& rank = ranks.rank(0);
  constexpr int64_t kCount = 1000;
  std::vector<float> send(kCount), recv(kCount);
  for (size_t i = 0; i < kCount; ++i) send[i] = static_cast<float>(i) + 0.5F;
  send[7] = std::bit_cast<float>(0x7fa00001U);  // a signalling NaN, which a sum would change
  uint64_t copied = driver.copied();
  const auto expectCopied = [&](const device::Issued& issued, const std::string& what, int times = 1) {
    EXPECT_EQ(ranks.await(0, issued), Code::Ok) << what << ": " << rank.lastError();
    EXPECT_EQ(driver.copied() - copied, times * kCount * sizeof(float)) << what;
    copied = driver.copied();
    EXPECT_EQ(std::memcmp(send.data(), recv.data(), kCount * sizeof(float)), 0) << what;
    std::fill(recv.begin(), recv.end(), 0.F);
  };
  const Choice choice = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  const device::Stream stream = rank.ownStream();
  for (const Collective collective :
       {Collective::AllReduce, Collective::Reduce, Collective::Broadcast, Collective::AllGather,
        Collective::ReduceScatter, Collective::AllToAll, Collective::Gather, Collective::Scatter}) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Max}) {
      const OperationCode code{collective, DataType::Float32, op};
      expectCopied(rank.run(code, choice, send.data(), recv.data(), kCount, 0, kRuntimeLimitNanos, stream),
                   nameOf(collective));
    }
  }
  const std::vector<int64_t> counts{kCount, 0};  // and displacements
  for (const Collective collective : {Collective::AllGather, Collective::ReduceScatter}) {
    const OperationCode code{collective, DataType::Float32, ReduceOp::Sum};
    expectCopied(rank.runV(code, choice, send.data(), recv.data(), counts, 0, kRuntimeLimitNanos, stream), "v-form");
  }
  const auto bytesOf = [](std::vector<float>& values) { return reinterpret_cast<uint8_t*>(values.data()); };
  const size_t half = kCount * sizeof(float) / 2;
  expectCopied(rank.runPointToPoint(choice,
                                    {{PointToPointTask::Kind::Recv, 0, bytesOf(recv), half, 1},
                                     {PointToPointTask::Kind::Send, 0, bytesOf(send), half, 1},
                                     {PointToPointTask::Kind::Send, 0, bytesOf(send) + half, half, 2},
                                     {PointToPointTask::Kind::Recv, 0, bytesOf(recv) + half, half, 2}},
                                    kRuntimeLimitNanos, stream),
               "sends and receives");
  // The second operation of the group reads what the first one writes.
  std::vector<float> between(kCount);
  rank.beginGroup();
  (void)rank.run(kSum, choice, send.data(), between.data(), kCount, 0, kRuntimeLimitNanos, stream);
  (void)rank.run(kSum, choice, between.data(), recv.data(), kCount, 0, kRuntimeLimitNanos, stream);
  expectCopied(rank.endGroup(kRuntimeLimitNanos, stream), "group", 2);
  EXPECT_EQ(ranks.await(0, rank.run(kSum, choice, send.data(), send.data(), kCount, 0, kRuntimeLimitNanos, stream)),
            Code::Ok);
  EXPECT_EQ(driver.copied(), copied) << "in place";

  const Application application;
  application.beginCapture(stream);
  const device::Issued captured =
      rank.run(kSum, choice, send.data(), recv.data(), kCount, 0, kRuntimeLimitNanos, stream);
  EXPECT_EQ(ranks.await(0, captured), Code::Ok);
  const device::Graph graph = application.endCapture(stream);
  for (int replay = 0; replay < 2; ++replay) {
    send[0] += 1;
    application.replay(graph, stream);
    application.synchronize(stream);
    EXPECT_EQ(recv[0], send[0]);
  }
}

TEST(DeviceRuntime, ChoicesThatDoNotFitTheCollectiveAreAdjusted) {
  DeviceRuntimeRanks ranks(2);
  device::DeviceCommunicator& rank = ranks.rank(0);
  const Choice direct = onTwoChannels(Algorithm::Direct, Protocol::LL, Choice::kTryZeroCopy);
  EXPECT_EQ(rank.adjustChoice(direct, Collective::AllReduce).flags, Choice::kZeroCopyUsed);
  EXPECT_EQ(rank.adjustChoice(direct, Collective::AllReduce).protocol, Protocol::Simple);
  EXPECT_EQ(rank.adjustChoice(direct, Collective::Broadcast).flags, 0);
  EXPECT_EQ(rank.adjustChoice(onTwoChannels(Algorithm::Tree, Protocol::LL), Collective::Reduce).algorithm,
            Algorithm::Ring);
  EXPECT_EQ(rank.adjustChoice(onTwoChannels(Algorithm::Ring, Protocol::LL), Collective::AllToAll).algorithm,
            Algorithm::Direct);
}

// Operations on several streams run one after another, because they share the communicator's connections.
TEST(DeviceRuntime, OperationsOnSeveralStreamsFollowOneAnother) {
  constexpr int kSize = 2;
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 777);
  const Application application;
  std::vector<device::Stream> streams;
  std::vector<Issued> last(kSize);
  for (int i = 0; i < 2 * kSize; ++i) streams.push_back(application.createStream());
  for (int round = 0; round < 6; ++round) {
    for (int rank = 0; rank < kSize; ++rank) {
      last[rank] = allReduce(ranks, rank, buffers, onTwoChannels(Algorithm::Ring, Protocol::Simple),
                             streams[2 * rank + round % 2]);
    }
  }
  for (int rank = 0; rank < kSize; ++rank) {
    ASSERT_EQ(ranks.await(rank, last[rank]), Code::Ok) << ranks.rank(rank).lastError();
  }
  buffers.expectSum(32);  // each of the five later sums doubles the result
  for (device::Stream stream : streams) application.destroyStream(stream);
}

// Communicators are independent: on streams of their own, their kernels run concurrently, in whatever order the ranks
// issue them.
TEST(DeviceRuntime, SeveralCommunicatorsShareADevice) {
  constexpr int kSize = 2, kCommunicators = 3, kRounds = 5;
  const Application application;
  std::vector<std::unique_ptr<DeviceRuntimeRanks>> communicators;
  std::vector<Buffers> buffers;
  std::vector<std::vector<Issued>> last(kCommunicators, std::vector<Issued>(kSize));
  std::vector<device::Stream> streams;
  for (int c = 0; c < kCommunicators; ++c) {
    communicators.push_back(std::make_unique<DeviceRuntimeRanks>(kSize));
    buffers.emplace_back(kSize, 600 + c);
  }
  for (int i = 0; i < 2 * kSize * kCommunicators; ++i) streams.push_back(application.createStream());
  for (int round = 0; round < kRounds; ++round) {
    for (int rank = 0; rank < kSize; ++rank) {
      for (int i = 0; i < kCommunicators; ++i) {
        const int c = rank == 0 ? i : kCommunicators - 1 - i;
        const Protocol protocol = static_cast<Protocol>((round + c) % kProtocolCount);
        last[c][rank] = allReduce(*communicators[c], rank, buffers[c], onTwoChannels(Algorithm::Ring, protocol),
                                  streams[2 * (c * kSize + rank) + round % 2]);
      }
    }
  }
  for (int c = 0; c < kCommunicators; ++c) {
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_EQ(communicators[c]->await(rank, last[c][rank]), Code::Ok) << communicators[c]->rank(rank).lastError();
    }
    buffers[c].expectSum(1 << (kRounds - 1));
  }
  for (device::Stream stream : streams) application.destroyStream(stream);
}

TEST(DeviceRuntime, TwoRanksOnOneStreamAreRefused) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 8);
  const Application application;
  device::Stream stream = application.createStream();
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::LL);
  const Issued first = allReduce(ranks, 0, buffers, ring, stream);
  const Issued second = allReduce(ranks, 1, buffers, ring, stream);
  EXPECT_EQ(second.code, Code::Invalid);
  EXPECT_NE(ranks.rank(1).lastError().find("give rank=1 a stream of its own"), std::string::npos)
      << ranks.rank(1).lastError();
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, first), Code::Ok);
  application.destroyStream(stream);
}

TEST(DeviceRuntime, AnotherRankMayUseANewStreamWithTheHandleOfADestroyedOne) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 8);
  const Application application;
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::LL);
  device::Stream first = application.createStream();
  const Issued ofFirst = allReduce(ranks, 0, buffers, ring, first);
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, ofFirst), Code::Ok);
  application.destroyStream(first);
  device::Stream second = application.createStream();
  ASSERT_EQ(second, first);
  const Issued ofSecond = allReduce(ranks, 1, buffers, ring, second);
  EXPECT_EQ(ofSecond.code, Code::Ok) << ranks.rank(1).lastError();
  EXPECT_EQ(allReduce(ranks, 0, buffers, ring, second).code, Code::Invalid);
  ASSERT_EQ(ranks.await(0, allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(1, ofSecond), Code::Ok);
  application.destroyStream(second);
}

// Counters advance on the device, so a captured launch can run any number of times, before and after other operations.
TEST(DeviceRuntime, ACapturedGraphIsReplayed) {
  constexpr int kSize = 2;
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 1234);
  const Application application;
  for (const uint16_t flags : {uint16_t{0}, Choice::kTryZeroCopy}) {
    const Choice choice = onTwoChannels(flags == 0 ? Algorithm::Ring : Algorithm::Direct, Protocol::Simple, flags);
    std::vector<device::Stream> streams;
    std::vector<device::Graph> graphs;
    for (int rank = 0; rank < kSize; ++rank) {
      // Both choices are captured on the same stream, because a communicator can be captured on one stream only.
      streams.push_back(ranks.rank(rank).ownStream());
      application.beginCapture(streams[rank]);
      const Issued issued = allReduce(ranks, rank, buffers, choice, streams[rank]);
      EXPECT_EQ(ranks.await(rank, issued), Code::Ok);
      graphs.push_back(application.endCapture(streams[rank]));
    }
    for (int replay = 0; replay < 2; ++replay) {
      for (int rank = 0; rank < kSize; ++rank) application.replay(graphs[rank], streams[rank]);
    }
    for (int rank = 0; rank < kSize; ++rank) {
      application.synchronize(streams[rank]);
      ASSERT_EQ(ranks.rank(rank).failure(), Code::Ok) << ranks.rank(rank).lastError();
    }
  }
  buffers.expectSum(8);
}

// The application begins a capture on its own stream. The library's streams of two communicators join it.
TEST(DeviceRuntime, StreamsThatJoinACaptureAreCaptured) {
  constexpr int kSize = 2;
  std::vector<std::unique_ptr<DeviceRuntimeRanks>> communicators;
  std::vector<Buffers> buffers;
  for (int c = 0; c < 2; ++c) {
    communicators.push_back(std::make_unique<DeviceRuntimeRanks>(kSize));
    buffers.emplace_back(kSize, 900 + c);
  }
  const Application application;
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  device::Event event = nullptr;
  application.here([&] { return device::createEvent(event); });
  const auto join = [&](device::Stream stream, device::Stream before) {
    application.here([&] { return device::recordEvent(event, before); });
    application.here([&] { return device::waitEvent(stream, event); });
  };
  std::vector<device::Stream> streams;
  std::vector<device::Graph> graphs;
  for (int rank = 0; rank < kSize; ++rank) {
    streams.push_back(application.createStream());
    application.beginCapture(streams[rank]);
    for (auto& ranks : communicators) {
      device::Stream own = ranks->rank(rank).ownStream();
      join(own, streams[rank]);
      const size_t c = ranks == communicators[0] ? 0 : 1;
      EXPECT_EQ(allReduce(*ranks, rank, buffers[c], ring, own).code, Code::Ok) << ranks->rank(rank).lastError();
    }
    // A communicator cannot be captured on two streams of a graph.
    EXPECT_EQ(allReduce(*communicators[0], rank, buffers[0], ring, streams[rank]).code, Code::Invalid);
    EXPECT_NE(communicators[0]->rank(rank).lastError().find("on one stream"), std::string::npos);
    for (auto& ranks : communicators) join(streams[rank], ranks->rank(rank).ownStream());
    graphs.push_back(application.endCapture(streams[rank]));
  }
  for (int replay = 0; replay < 2; ++replay) {
    for (int rank = 0; rank < kSize; ++rank) application.replay(graphs[rank], streams[rank]);
  }
  // Operations that are issued now run after the replays.
  std::vector<Issued> last(kSize);
  for (int rank = 0; rank < kSize; ++rank) {
    last[rank] = allReduce(*communicators[0], rank, buffers[0], ring, communicators[0]->rank(rank).ownStream());
  }
  for (int rank = 0; rank < kSize; ++rank) {
    ASSERT_EQ(communicators[0]->await(rank, last[rank]), Code::Ok) << communicators[0]->rank(rank).lastError();
    application.synchronize(streams[rank]);
  }
  buffers[0].expectSum(4);
  buffers[1].expectSum(2);
}

// The library's calls invalidate no capture: neither those on the capturing thread, nor those on a thread that watches
// operations.
TEST(DeviceRuntime, ACaptureLastsWhileOperationsAreWatched) {
  constexpr int kSize = 2;
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 300);
  const Application application;
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  std::vector<Issued> eager;
  for (int rank = 0; rank < kSize; ++rank) {
    eager.push_back(allReduce(ranks, rank, buffers, ring, ranks.rank(rank).ownStream()));
  }
  std::atomic<bool> ends{false};
  std::thread watch([&] {
    while (!ends) {
      for (int rank = 0; rank < kSize; ++rank) {
        bool done = false;
        (void)ranks.rank(rank).query(eager[rank].number, done);
        (void)ranks.rank(rank).lastDone();
      }
    }
  });
  std::vector<device::Graph> graphs;
  for (int rank = 0; rank < kSize; ++rank) {
    application.beginCapture(ranks.rank(rank).ownStream());
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(allReduce(ranks, rank, buffers, ring, ranks.rank(rank).ownStream()).code, Code::Ok)
          << ranks.rank(rank).lastError();
    }
    graphs.push_back(application.endCapture(ranks.rank(rank).ownStream()));
  }
  ends = true;
  watch.join();
  for (int rank = 0; rank < kSize; ++rank) {
    ASSERT_EQ(ranks.await(rank, eager[rank]), Code::Ok);
    application.replay(graphs[rank], ranks.rank(rank).ownStream());
  }
  for (int rank = 0; rank < kSize; ++rank) application.synchronize(ranks.rank(rank).ownStream());
  buffers.expectSum(1 << 20);
}

// Replays and operations use the same connections, so they run one after another even on different streams.
TEST(DeviceRuntime, ReplaysAndOperationsOnDifferentStreamsFollowOneAnother) {
  constexpr int kSize = 2, kRounds = 6;
  DeviceRuntimeRanks ranks(kSize);
  Buffers buffers(kSize, 500), others(kSize, 700);
  const Application application;
  std::vector<device::Graph> graphs;
  std::vector<device::Stream> captured, eager;
  for (int rank = 0; rank < kSize; ++rank) {
    captured.push_back(application.createStream());
    eager.push_back(application.createStream());
    application.beginCapture(captured[rank]);
    (void)allReduce(ranks, rank, buffers, onTwoChannels(Algorithm::Ring, Protocol::Simple), captured[rank]);
    (void)allReduce(ranks, rank, buffers, onTwoChannels(Algorithm::Tree, Protocol::LL), captured[rank]);
    graphs.push_back(application.endCapture(captured[rank]));
  }
  std::vector<Issued> last(kSize);
  for (int round = 0; round < kRounds; ++round) {
    for (int rank = 0; rank < kSize; ++rank) {
      const Protocol protocol = static_cast<Protocol>(round % kProtocolCount);
      last[rank] = allReduce(ranks, rank, others, onTwoChannels(Algorithm::Ring, protocol), eager[rank]);
      application.replay(graphs[rank], captured[rank]);
    }
  }
  for (int rank = 0; rank < kSize; ++rank) {
    ASSERT_EQ(ranks.await(rank, last[rank]), Code::Ok) << ranks.rank(rank).lastError();
    application.synchronize(captured[rank]);
    ASSERT_EQ(ranks.rank(rank).failure(), Code::Ok) << ranks.rank(rank).lastError();
  }
  others.expectSum(1 << (kRounds - 1));
  buffers.expectSum(1 << (2 * kRounds - 1));
}

// A graph contains the arguments of its kernels. So any number of operations can be captured while kernels of other
// communicators run.
TEST(DeviceRuntime, CapturesAnyNumberOfOperationsOfEveryKind) {
  constexpr int kSize = 2, kOperations = 50;
  DeviceRuntimeRanks ranks(kSize);
  std::vector<std::vector<int32_t>> sums(kSize, std::vector<int32_t>(64, 1)), from(kSize), to(kSize);
  const Application application;
  const Choice inPlace = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);
  DeviceRuntimeRanks others(2);
  Buffers spinning(2, 8);
  const Issued alone =
      allReduce(others, 0, spinning, onTwoChannels(Algorithm::Ring, Protocol::LL), others.rank(0).ownStream());
  std::vector<device::Graph> graphs;
  for (int rank = 0; rank < kSize; ++rank) {
    device::DeviceCommunicator& one = ranks.rank(rank);
    from[rank].assign(10, rank);
    to[rank].assign(10, -1);
    application.beginCapture(one.ownStream());
    for (int i = 0; i < kOperations; ++i) {
      ASSERT_EQ(one.run({Collective::AllReduce, DataType::Int32, ReduceOp::Max}, inPlace, sums[rank].data(),
                        sums[rank].data(), 64, 0, kRuntimeLimitNanos, one.ownStream())
                    .code,
                Code::Ok)
          << one.lastError();
      one.beginGroup();
      for (int k = 0; k < 2; ++k) {
        (void)one.run({Collective::AllToAll, DataType::Int32, ReduceOp::Sum},
                      onTwoChannels(Algorithm::Direct, Protocol::Simple), from[rank].data(), to[rank].data(), 5, 0,
                      kRuntimeLimitNanos, one.ownStream());
      }
      ASSERT_EQ(one.endGroup(kRuntimeLimitNanos, one.ownStream()).code, Code::Ok) << one.lastError();
      ASSERT_EQ(one.runV({Collective::AllGather, DataType::Int32, ReduceOp::Sum},
                         onTwoChannels(Algorithm::Ring, Protocol::LL), from[rank].data(), to[rank].data(), {5, 5, 0, 5},
                         0, kRuntimeLimitNanos, one.ownStream())
                    .code,
                Code::Ok)
          << one.lastError();
    }
    graphs.push_back(application.endCapture(one.ownStream()));
  }
  for (int rank = 0; rank < kSize; ++rank) application.replay(graphs[rank], ranks.rank(rank).ownStream());
  for (int rank = 0; rank < kSize; ++rank) application.synchronize(ranks.rank(rank).ownStream());
  const std::vector<int32_t> expected = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  for (int rank = 0; rank < kSize; ++rank) {
    EXPECT_EQ(ranks.rank(rank).failure(), Code::Ok) << ranks.rank(rank).lastError();
    EXPECT_EQ(to[rank], expected);
  }
  others.rank(0).abort(Code::Aborted);
  EXPECT_EQ(others.await(0, alone), Code::Aborted);
}

// If large groups occupy all argument areas, a later group waits for the earliest ones, which never wait for it.
TEST(DeviceRuntime, LargeGroupsReuseTheirAreas) {
  constexpr int kSize = 2, kGroups = 80, kMembers = 40;
  DeviceRuntimeRanks ranks(kSize);
  std::vector<std::vector<int32_t>> buffers(kSize, std::vector<int32_t>(kMembers, 1));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kSize; ++rank) {
    threads.emplace_back([&, rank] {
      device::DeviceCommunicator& one = ranks.rank(rank);
      Issued last;
      for (int group = 0; group < kGroups; ++group) {
        one.beginGroup();
        for (int i = 0; i < kMembers; ++i) {
          (void)one.run({Collective::AllReduce, DataType::Int32, ReduceOp::Max},
                        onTwoChannels(Algorithm::Ring, Protocol::LL), &buffers[rank][i], &buffers[rank][i], 1, 0,
                        kRuntimeLimitNanos, one.ownStream());
        }
        last = one.endGroup(kRuntimeLimitNanos, one.ownStream());
        ASSERT_EQ(last.code, Code::Ok) << one.lastError();
      }
      EXPECT_EQ(ranks.await(rank, last), Code::Ok);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A rank that closes a communicator waits for no kernel of other communicators, because these may wait for this rank.
TEST(DeviceRuntime, ClosingWaitsForNoOtherCommunicatorsKernels) {
  ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1);
  DeviceRuntimeRanks spins(2);
  Buffers buffers(2, 8);
  {
    DeviceRuntimeRanks closes(2, 2, 1, {0, 0});
    const Issued alone =
        allReduce(spins, 0, buffers, onTwoChannels(Algorithm::Ring, Protocol::LL), spins.rank(0).ownStream());
    closes.close(0);
    closes.close(1);
    EXPECT_EQ(EmulatedGpu::ofThisProcess().failure(), emulator::GpuFailure::None)
        << EmulatedGpu::ofThisProcess().whyFailed();
    ASSERT_EQ(spins.await(1, allReduce(spins, 1, buffers, onTwoChannels(Algorithm::Ring, Protocol::LL),
                                       spins.rank(1).ownStream())),
              Code::Ok);
    ASSERT_EQ(spins.await(0, alone), Code::Ok);
  }
  ::unsetenv("JCCL_EMULATED_SHARING");
}

TEST(DeviceRuntime, ADefaultStreamAndABlockingOneAreRefused) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 8);
  const Application application;
  device::Stream blocking = nullptr;
  application.here([&] { return device::createStream(blocking, true); });
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::LL);
  const Issued first = allReduce(ranks, 0, buffers, ring, blocking);
  EXPECT_EQ(allReduce(ranks, 1, buffers, ring, nullptr).code, Code::Invalid);
  EXPECT_NE(ranks.rank(1).lastError().find("cudaStreamNonBlocking"), std::string::npos) << ranks.rank(1).lastError();
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, first), Code::Ok);
  application.destroyStream(blocking);
}

TEST(DeviceRuntime, MoreStreamsThanHardwareQueuesAreReported) {
  DeviceRuntimeRanks ranks(1);
  Buffers buffers(1, 8);
  const Application application;
  std::vector<device::Stream> streams;
  for (int i = 0; i <= driver::driver().hardwareQueues; ++i) {
    EXPECT_EQ(ranks.rank(0).crowding(), "");
    streams.push_back(application.createStream());
    ASSERT_EQ(
        ranks.await(0, allReduce(ranks, 0, buffers, onTwoChannels(Algorithm::Ring, Protocol::LL), streams.back())),
        Code::Ok);
  }
  EXPECT_NE(ranks.rank(0).crowding().find("streams=33 hardwareQueues=32"), std::string::npos)
      << ranks.rank(0).crowding();
  EXPECT_NE(ranks.rank(0).crowding().find("CUDA_DEVICE_MAX_CONNECTIONS"), std::string::npos);
  for (device::Stream stream : streams) application.destroyStream(stream);
}

// A driver creates no event while another thread's copy to pageable memory waits for kernels, and these may wait for an
// operation of this thread. So operations must not create events.
TEST(DeviceRuntime, OperationsUseEventsThatWereCreatedBefore) {
  constexpr int kOperations = 100;
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 8);
  auto& calls = const_cast<driver::Driver&>(driver::driver());
  const auto eventCreate =
      std::exchange(calls.eventCreate, [](driver::Event*, unsigned) { return driver::Result::OutOfMemory; });
  std::array<Issued, 2> last;
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < kOperations; ++i) {
      last[rank] =
          allReduce(ranks, rank, buffers, onTwoChannels(Algorithm::Ring, Protocol::LL), ranks.rank(rank).ownStream());
      EXPECT_EQ(last[rank].code, Code::Ok) << ranks.rank(rank).lastError();
    }
  }
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.await(rank, last[rank]), Code::Ok);
  calls.eventCreate = eventCreate;
}

TEST(DeviceRuntime, AbortEndsAKernelThatWaits) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100);
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  const Issued alone = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ranks.rank(0).waiting().empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
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

// Work of the application on the stream delays the kernel. When the kernel begins, its operation has long been aborted,
// and its buffers belong to the application again.
TEST(DeviceRuntime, AKernelThatBeginsAfterTheAbortTouchesNothing) {
  DeviceRuntimeRanks ranks(2);
  std::vector<float> send(1000, 1), recv(1000, -7);
  std::atomic<bool> goes{false};
  auto* stream = static_cast<EmulatedGpu::Stream*>(ranks.rank(0).ownStream());
  ASSERT_TRUE(EmulatedGpu::ofThisProcess().hold(stream, [&] { return goes.load(); }).isOk());
  const Issued issued = copyByKernel(ranks, 0, send.data(), recv.data(), 1000 * sizeof(float), stream);
  ASSERT_EQ(issued.code, Code::Ok);
  ranks.rank(0).abort(Code::Aborted);
  goes = true;
  EXPECT_EQ(ranks.await(0, issued), Code::Aborted);
  EXPECT_EQ(recv, std::vector<float>(1000, -7));
}

TEST(DeviceRuntime, OperationsTimeOutOnTheDevice) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100);
  const Issued alone =
      allReduce(ranks, 0, buffers, onTwoChannels(Algorithm::Ring, Protocol::LL), ranks.rank(0).ownStream(), 50'000'000);
  EXPECT_EQ(ranks.await(0, alone), Code::Timeout);
  const std::string error = ranks.rank(0).lastError();
  EXPECT_NE(error.find("all_reduce type=float32 count=100 algorithm=ring protocol=ll"), std::string::npos) << error;
  EXPECT_NE(error.find("peer=1 transport=p2p protocol=ll waitsFor=data"), std::string::npos) << error;
}

TEST(DeviceRuntime, DifferentOperationsAreAMismatch) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100), shorter(2, 99);
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  const Issued one = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream(), 2'000'000'000);
  const Issued other = allReduce(ranks, 1, shorter, ring, ranks.rank(1).ownStream(), 2'000'000'000);
  const Code codes[] = {ranks.await(0, one), ranks.await(1, other)};
  EXPECT_TRUE(codes[0] == Code::Mismatch || codes[1] == Code::Mismatch);
}

// Even if nobody has queried the failed operation, the next operation is refused, and failedSequence() names the failed
// one.
TEST(DeviceRuntime, AFailureIsThatOfItsOperationBeforeAnyQuery) {
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 100), shorter(2, 99);
  const Choice ring = onTwoChannels(Algorithm::Ring, Protocol::Simple);
  const Issued first = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream());
  ASSERT_EQ(ranks.await(1, allReduce(ranks, 1, buffers, ring, ranks.rank(1).ownStream())), Code::Ok);
  ASSERT_EQ(ranks.await(0, first), Code::Ok);
  EXPECT_EQ(ranks.rank(0).failedSequence(), 0u);
  const Issued one = allReduce(ranks, 0, buffers, ring, ranks.rank(0).ownStream(), 2'000'000'000);
  const Issued other = allReduce(ranks, 1, shorter, ring, ranks.rank(1).ownStream(), 2'000'000'000);
  for (const int rank : {0, 1}) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (ranks.rank(rank).failure() == Code::Ok) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_NE(allReduce(ranks, rank, buffers, ring, ranks.rank(rank).ownStream()).code, Code::Ok);
    EXPECT_EQ(ranks.rank(rank).failedSequence(), 2u) << "rank=" << rank;
  }
  (void)ranks.await(0, one);
  (void)ranks.await(1, other);
}

}  // namespace
}  // namespace jccl::test::runtime_test
