// Tests of groups of operations: the number of launches that they take, and that their results are those of single
// operations.
#include <cstring>
#include <functional>
#include <random>

#include "cuda/test/application.h"
#include "cuda/test/compared_cases.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/device_runtime_ranks.h"

namespace jccl::test::group_test {
namespace {

using device::DeviceCommunicator;
using device::Issued;
using emulator::EmulatedGpu;

constexpr int kChannels = 2;
constexpr uint32_t kChunkBytes = 700;

uint64_t launches() { return EmulatedGpu::ofThisProcess().launches(); }

// One operation of a group. Each has its own buffers.
struct Member {
  OperationCode code;
  Choice choice;
  size_t count;
};

Member member(Collective collective, DataType type, ReduceOp op, Algorithm algorithm, Protocol protocol, int channels,
              size_t count, uint16_t flags = 0) {
  return {{collective, type, op}, choiceOf(algorithm, protocol, channels, kChunkBytes, flags), count};
}

// A rank's send and receive buffers of all members. The values depend on the rank only, so host and device get equal
// values.
class Memory {
 public:
  Memory(const std::vector<Member>& members, int rank, int size) {
    std::mt19937 random(static_cast<unsigned>(rank + 1));
    for (const Member& one : members) {
      const size_t bytes = one.count * sizeOf(one.code.type) * size;
      std::vector<uint8_t>& send = sends.emplace_back(bytes);
      for (size_t i = 0; i + 4 <= bytes; i += 4) {
        const float value = static_cast<float>(random() % 20001) / 64 - 150;
        std::memcpy(&send[i], &value, 4);
      }
      recvs.emplace_back(bytes, uint8_t{0xEE});
    }
  }
  std::vector<std::vector<uint8_t>> sends, recvs;
};

class Groups : public ::testing::Test {
 protected:
  explicit Groups(int size = 3) : size_(size), ranks_(size, kChannels) {}

  Issued run(int rank, const Member& one, const void* send, void* recv, int root = 0,
             int64_t timeoutNanos = kTimeoutNanos) {
    DeviceCommunicator& communicator = ranks_.rank(rank);
    return communicator.run(one.code, one.choice, send, recv, static_cast<int64_t>(one.count), root, timeoutNanos,
                            communicator.ownStream());
  }
  Issued end(int rank, int64_t timeoutNanos = kTimeoutNanos) {
    return ranks_.rank(rank).endGroup(timeoutNanos, ranks_.rank(rank).ownStream());
  }
  void await(const std::vector<Issued>& issued) {
    for (int rank = 0; rank < size_; ++rank) {
      ASSERT_EQ(ranks_.await(rank, issued[rank]), Code::Ok) << ranks_.rank(rank).lastError();
    }
  }

  // Runs all members as one group on every rank, except on ranks below `alone`, which issue them one by one. Expects
  // the host's results. Returns the number of launches that a rank with a group needed.
  uint64_t compare(const std::vector<Member>& members, int alone = 0) {
    std::vector<Memory> device, host;
    for (int rank = 0; rank < size_; ++rank) {
      device.emplace_back(members, rank, size_);
      host.emplace_back(members, rank, size_);
    }
    runOnHost(size_, kChannels, members.size(), [&](Engine& communicator, size_t i) {
      Memory& memory = host[communicator.rank()];
      return communicator.run(members[i].code, members[i].choice, reinterpret_cast<uint64_t>(memory.sends[i].data()),
                              reinterpret_cast<uint64_t>(memory.recvs[i].data()),
                              static_cast<int64_t>(members[i].count), 0, kTimeoutNanos);
    });
    uint64_t before = 0;
    std::vector<Issued> issued(size_);
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == alone) before = launches();
      if (rank >= alone) ranks_.rank(rank).beginGroup();
      for (size_t i = 0; i < members.size(); ++i) {
        issued[rank] = run(rank, members[i], device[rank].sends[i].data(), device[rank].recvs[i].data());
        EXPECT_EQ(issued[rank].code, Code::Ok) << ranks_.rank(rank).lastError();
      }
      if (rank >= alone) issued[rank] = end(rank);
    }
    const uint64_t all = launches() - before;
    await(issued);
    for (int rank = 0; rank < size_; ++rank) {
      const History& history = ranks_.rank(rank).history();
      EXPECT_EQ(history.lastDone(), history.lastEntered());
      for (uint64_t sequence = 1; sequence <= history.lastDone(); ++sequence) {
        HistoryRow row;
        EXPECT_TRUE(history.read(sequence, row));
        EXPECT_GT(row.begun, 0);
        EXPECT_GE(row.ended, row.begun);
      }
      for (size_t i = 0; i < members.size(); ++i) {
        EXPECT_EQ(device[rank].recvs[i], host[rank].recvs[i])
            << "rank=" << rank << " member=" << i << " " << nameOf(members[i].code.collective);
      }
    }
    return all / static_cast<uint64_t>(size_ - alone);
  }

  int size_;
  DeviceRuntimeRanks ranks_;
};

// Returns reductions of every algorithm, with different counts and numbers of channels. All of them can share one
// launch, because they use the same protocol.
std::vector<Member> reductions(Protocol protocol) {
  std::vector<Member> members;
  for (const size_t count : {size_t{1}, size_t{0}, size_t{1999}, size_t{37}}) {
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
      const int channels = 1 + static_cast<int>(members.size() % kChannels);
      members.push_back(
          member(Collective::AllReduce, DataType::Float32, ReduceOp::Sum, algorithm, protocol, channels, count));
    }
    members.push_back(
        member(Collective::ReduceScatter, DataType::Float32, ReduceOp::Max, Algorithm::Ring, protocol, 1, count));
    members.push_back(
        member(Collective::Reduce, DataType::Float32, ReduceOp::Sum, Algorithm::Direct, protocol, 2, count));
  }
  return members;
}

// Launches contain the counts of an odd number of ranks. The arguments of the largest groups do not fit into one
// launch.
TEST_F(Groups, CountsByRankFitIntoTheirLaunch) {
  const std::vector<int64_t> counts = {1, 2, 3, 0, 1, 3};
  const std::vector<int32_t> expected = {0, 10, 11, 20, 21, 22};
  for (size_t members = 1; members <= 20; ++members) {
    SCOPED_TRACE(members);
    std::vector<std::vector<int32_t>> sends(size_), recvs(size_ * members, std::vector<int32_t>(expected.size(), -1));
    std::vector<Issued> issued(size_);
    for (int rank = 0; rank < size_; ++rank) {
      for (int i = 0; i <= rank; ++i) sends[rank].push_back(10 * rank + i);
      DeviceCommunicator& one = ranks_.rank(rank);
      one.beginGroup();
      for (size_t i = 0; i < members; ++i) {
        (void)one.runV({Collective::AllGather, DataType::Int32, ReduceOp::Sum},
                       choiceOf(Algorithm::Ring, Protocol::LL, 1), sends[rank].data(), recvs[rank * members + i].data(),
                       counts, 0, kTimeoutNanos, one.ownStream());
      }
      issued[rank] = end(rank);
    }
    await(issued);
    for (const std::vector<int32_t>& recv : recvs) ASSERT_EQ(recv, expected);
  }
}

TEST_F(Groups, ReductionsOfOneKernelAreOneLaunchWithTheHostsBits) {
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    EXPECT_EQ(compare(reductions(protocol)), 1u) << nameOf(protocol);
  }
}

TEST_F(Groups, RanksMayGroupOperationsDifferently) { EXPECT_EQ(compare(reductions(Protocol::Simple), 2), 1u); }

TEST_F(Groups, OperationsThatOnlyMoveBytesShareALaunchForAllTypes) {
  const auto moving = [](Collective collective, DataType type, size_t count) {
    return member(collective, type, ReduceOp::Sum, Algorithm::Ring, Protocol::Simple, 2, count);
  };
  EXPECT_EQ(compare({moving(Collective::Broadcast, DataType::Float32, 1000),
                     moving(Collective::AllGather, DataType::Int8, 301),
                     moving(Collective::Broadcast, DataType::Float64, 7)}),
            1u);
}

TEST_F(Groups, EachKernelNeedsItsOwnLaunch) {
  const auto sum = [](DataType type, Protocol protocol) {
    return member(Collective::AllReduce, type, ReduceOp::Sum, Algorithm::Ring, protocol, 2, 500);
  };
  EXPECT_EQ(compare({sum(DataType::Float32, Protocol::LL), sum(DataType::Float32, Protocol::LL),
                     sum(DataType::Float32, Protocol::Simple), sum(DataType::Int32, Protocol::Simple),
                     sum(DataType::Uint32, Protocol::Simple)}),
            3u);
}

TEST_F(Groups, OperationsOverPeersBuffersAreOneLaunch) {
  std::vector<Member> members;
  for (const Collective collective : {Collective::AllReduce, Collective::ReduceScatter}) {
    for (const size_t count : {size_t{5}, size_t{1200}, size_t{0}}) {
      members.push_back(member(collective, DataType::Float32, ReduceOp::Sum, Algorithm::Direct, Protocol::Simple,
                               1 + static_cast<int>(members.size() % 2), count, Choice::kTryZeroCopy));
    }
  }
  EXPECT_EQ(compare(members), 1u);
}

// Sends and receives in both directions, and the collectives that consist of them, run at once, so that none can block
// another.
TEST_F(Groups, SendsReceivesAndExchangesAreOneLaunch) {
  constexpr size_t kBytes = 20'000;  // more than the slots hold
  const Member toAll =
      member(Collective::AllToAll, DataType::Int8, ReduceOp::Sum, Algorithm::Direct, Protocol::Simple, 2, kBytes / 4);
  Member gather = toAll, scatter = toAll;
  gather.code.collective = Collective::Gather;
  scatter.code.collective = Collective::Scatter;
  const std::vector<Member> exchanges = {toAll, gather, scatter};
  std::vector<Memory> device, host;
  std::vector<std::vector<uint8_t>> messages(size_), received(size_);
  std::vector<Issued> issued(size_);
  for (int rank = 0; rank < size_; ++rank) {
    device.emplace_back(exchanges, rank, size_);
    host.emplace_back(exchanges, rank, size_);
    messages[rank].assign(kBytes, static_cast<uint8_t>(rank + 1));
    received[rank].assign(kBytes * size_, 0);
  }
  runOnHost(size_, kChannels, exchanges.size(), [&](Engine& communicator, size_t i) {
    Memory& memory = host[communicator.rank()];
    return communicator.run(exchanges[i].code, exchanges[i].choice, reinterpret_cast<uint64_t>(memory.sends[i].data()),
                            reinterpret_cast<uint64_t>(memory.recvs[i].data()),
                            static_cast<int64_t>(exchanges[i].count), 1, kTimeoutNanos);
  });
  const uint64_t before = launches();
  for (int rank = 0; rank < size_; ++rank) {
    DeviceCommunicator& communicator = ranks_.rank(rank);
    communicator.beginGroup();
    std::vector<PointToPointTask> tasks;
    for (int i = 0; i < size_; ++i) {
      // Some ranks list their sends first, others their receives.
      const auto send = [&] { tasks.push_back({PointToPointTask::Kind::Send, i, messages[rank].data(), kBytes, 77}); };
      if (rank % 2 == 0) send();
      tasks.push_back({PointToPointTask::Kind::Recv, i, received[rank].data() + i * kBytes, kBytes, 77});
      if (rank % 2 != 0) send();
    }
    EXPECT_EQ(communicator.runPointToPoint({}, tasks, kTimeoutNanos, nullptr).code, Code::Ok);
    for (size_t i = 0; i < exchanges.size(); ++i) {
      EXPECT_EQ(run(rank, exchanges[i], device[rank].sends[i].data(), device[rank].recvs[i].data(), 1).code, Code::Ok);
    }
    issued[rank] = end(rank);
  }
  EXPECT_EQ(launches() - before, static_cast<uint64_t>(size_));
  await(issued);
  for (int rank = 0; rank < size_; ++rank) {
    EXPECT_EQ(ranks_.rank(rank).history().lastDone(), exchanges.size());
    EXPECT_EQ(ranks_.rank(rank).transfers().last(), 1u);
    TransferRow row;
    EXPECT_TRUE(ranks_.rank(rank).transfers().read(1, row));
    EXPECT_EQ(row.state, OperationState::Done);
    EXPECT_EQ(row.sends, size_);
    EXPECT_EQ(row.receivedBytes, kBytes * static_cast<size_t>(size_));
    EXPECT_GE(row.ended, row.begun);
    for (size_t i = 0; i < received[rank].size(); ++i) ASSERT_EQ(received[rank][i], i / kBytes + 1) << "rank=" << rank;
    for (size_t i = 0; i < exchanges.size(); ++i) {
      EXPECT_EQ(device[rank].recvs[i], host[rank].recvs[i]) << "rank=" << rank << " " << i;
    }
  }
}

// Members run in their order. A member that reads what an earlier one wrote does not share a launch with it.
TEST_F(Groups, AnOperationOnAnothersResultRunsAfterIt) {
  const Member sum =
      member(Collective::AllReduce, DataType::Int32, ReduceOp::Sum, Algorithm::Ring, Protocol::Simple, 2, 3000);
  std::vector<std::vector<int32_t>> buffers(size_, std::vector<int32_t>(sum.count, 1));
  std::vector<std::vector<int32_t>> others = buffers;
  const uint64_t before = launches();
  std::vector<Issued> issued(size_);
  for (int rank = 0; rank < size_; ++rank) {
    ranks_.rank(rank).beginGroup();
    for (int round = 0; round < 3; ++round) run(rank, sum, buffers[rank].data(), buffers[rank].data());
    run(rank, sum, others[rank].data(), others[rank].data());
    issued[rank] = end(rank);
  }
  EXPECT_EQ(launches() - before, 3u * size_);
  await(issued);
  for (int rank = 0; rank < size_; ++rank) {
    EXPECT_EQ(buffers[rank], std::vector<int32_t>(sum.count, 27));
    EXPECT_EQ(others[rank], std::vector<int32_t>(sum.count, 3));
  }
}

TEST_F(Groups, ACapturedGroupIsReplayed) {
  const Member sum =
      member(Collective::AllReduce, DataType::Int32, ReduceOp::Sum, Algorithm::Ring, Protocol::LL, 2, 300);
  const Application application;
  std::vector<std::vector<int32_t>> one(size_, std::vector<int32_t>(sum.count, 1)), two = one;
  std::vector<device::Graph> graphs;
  const auto streamOf = [&](int rank) { return ranks_.rank(rank).ownStream(); };
  for (int rank = 0; rank < size_; ++rank) {
    application.beginCapture(streamOf(rank));
    ranks_.rank(rank).beginGroup();
    run(rank, sum, one[rank].data(), one[rank].data());
    run(rank, sum, two[rank].data(), two[rank].data());
    EXPECT_EQ(ranks_.await(rank, end(rank)), Code::Ok);
    graphs.push_back(application.endCapture(streamOf(rank)));
  }
  const uint64_t before = launches();
  for (int replay = 0; replay < 2; ++replay) {
    for (int rank = 0; rank < size_; ++rank) application.replay(graphs[rank], streamOf(rank));
  }
  EXPECT_EQ(launches() - before, 2u * size_);
  for (int rank = 0; rank < size_; ++rank) {
    application.synchronize(streamOf(rank));
    EXPECT_EQ(one[rank], std::vector<int32_t>(sum.count, 9));
    EXPECT_EQ(two[rank], std::vector<int32_t>(sum.count, 9));
  }
}

// Rank 0 continues with a second operation that no other rank issues. The first operation succeeds and the second one
// fails.
TEST_F(Groups, AFailureNamesTheMemberThatFailed) {
  const auto sum = [](size_t count) {
    return member(Collective::AllReduce, DataType::Int32, ReduceOp::Sum, Algorithm::Ring, Protocol::LL, 2, count);
  };
  std::vector<std::vector<int32_t>> one(size_, std::vector<int32_t>(100, 1)), two = one;
  std::vector<Issued> issued(size_);
  for (int rank = 0; rank < size_; ++rank) {
    ranks_.rank(rank).beginGroup();
    run(rank, sum(100), one[rank].data(), one[rank].data());
    if (rank == 0) run(rank, sum(99), two[rank].data(), two[rank].data());
    issued[rank] = end(rank, 300'000'000);
  }
  EXPECT_EQ(ranks_.await(0, issued[0]), Code::Timeout);
  const std::string error = ranks_.rank(0).lastError();
  EXPECT_NE(error.find("all_reduce type=int32 count=99 "), std::string::npos) << error;
  bool done = false;
  EXPECT_EQ(ranks_.rank(0).query(issued[0].number - 1, done), Code::Ok);
  EXPECT_TRUE(done);
  EXPECT_EQ(ranks_.rank(0).failedSequence(), 2u);
  EXPECT_EQ(ranks_.rank(0).lastDone(), 1u);
  EXPECT_EQ(one[0], std::vector<int32_t>(100, 3));
  for (int rank = 1; rank < size_; ++rank) EXPECT_EQ(ranks_.await(rank, issued[rank]), Code::Ok);
}

TEST_F(Groups, AGroupWithARefusedMemberIssuesNothing) {
  const Member sum =
      member(Collective::AllReduce, DataType::Int32, ReduceOp::Sum, Algorithm::Ring, Protocol::LL, 1, 10);
  std::vector<int32_t> buffer(10, 1);
  const uint64_t before = launches();
  ranks_.rank(0).beginGroup();
  EXPECT_EQ(run(0, sum, buffer.data(), buffer.data()).number, 0u);
  EXPECT_EQ(run(0, sum, buffer.data(), buffer.data(), size_).code, Code::Invalid);
  ranks_.rank(0).dropGroup();
  EXPECT_EQ(launches(), before);
  EXPECT_EQ(compare({sum}), 1u);
}

TEST_F(Groups, LargeGroupsTakeSeveralLaunches) {
  std::vector<Member> members(
      300, member(Collective::AllReduce, DataType::Float32, ReduceOp::Sum, Algorithm::Ring, Protocol::LL, 1, 3));
  const uint64_t launches = compare(members);
  EXPECT_GE(launches, 2u);
  EXPECT_LE(launches, 4u);
}

}  // namespace
}  // namespace jccl::test::group_test
