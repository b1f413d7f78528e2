// Tests of communicators with more ranks than a block of a kernel has connections for.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime/device_plan.h"
#include "cuda/test/eight_gpus.h"
#include "cuda/test/runtime_operations.h"
#include "cuda/test/staged_ranks.h"

namespace jccl::test::many_ranks_test {
namespace {

using device::DeviceCommunicator;
using device::DevicePlan;
using device::Issued;
using device::kMaxDirectRanks;

constexpr int kRanksOfHost = 8;

// The plan of a rank of many hosts with eight GPUs each, with the default sizes of slots.
class PlanOfOneRank {
 public:
  static constexpr int kChannels = 16;
  static constexpr int kSelf = 9;  // a rank in the middle of a host

  explicit PlanOfOneRank(int size)
      : size_(size),
        shape_(512 * 1024, 64 * 1024, 64 * 1024),
        plan_(kSelf, size, kChannels, size <= kMaxDirectRanks ? 2 : 1, shape_) {
    std::vector<int> order;
    for (int i = 0; i < size; ++i) order.push_back(i);
    for (int channel = 0; channel < kChannels; ++channel) {
      EXPECT_TRUE(plan_.setRing(channel, order).isOk());
      EXPECT_TRUE(plan_.setTree(channel, kSelf - 1, {kSelf + 1}).isOk());
    }
    for (int peer = 0; peer < size; ++peer) {
      if (!isHere(peer)) plan_.setStaged(peer);
    }
  }

  const DevicePlan& plan() const { return plan_; }
  static bool isHere(int peer) { return peer / kRanksOfHost == kSelf / kRanksOfHost; }

  // Returns the bytes of pinned memory of the host for the connections with ranks of other hosts.
  size_t stagedBytes() const {
    size_t bytes = 0;
    for (int peer = 0; peer < size_; ++peer) {
      if (isHere(peer)) continue;
      for (int channel = 0; channel < kChannels; ++channel) {
        if (!plan_.stages(peer, channel)) continue;
        const bool compact = plan_.isStagedCompact(peer, channel, TransportKind::Socket);
        bytes += 2 * (compact ? plan_.exchangeShape() : shape_).blockBytes();
      }
    }
    return bytes;
  }

  // Returns the ends of connections in the tables that kernels read.
  std::vector<const device::LinkEnd*> written() {
    std::vector<DevicePlan::PeerSegment> peers(size_);
    staging_.resize(plan_.tableBytes());
    uint8_t* const memory = reinterpret_cast<uint8_t*>(uintptr_t{1} << 40);  // is not accessed
    for (int peer = 0; peer < size_; ++peer) {
      if (isHere(peer)) {
        peers[peer].base = memory;
        peers[peer].blocks = plan_.blocksOf(peer == kSelf ? kSelf + 1 : peer);
        peers[peer].transport = TransportKind::P2p;
      } else {
        peers[peer].staged.assign(kChannels, {memory, memory, nullptr, memory, memory, nullptr});
        peers[peer].transport = TransportKind::Socket;
      }
    }
    plan_.write(staging_.data(), staging_.data(), memory, peers, nullptr);
    std::vector<const device::LinkEnd*> ends;
    for (int channel = 0; channel < kChannels; ++channel)
      ends.push_back(plan_.channelsIn(staging_.data())[channel].sends);
    return ends;
  }

 private:
  int size_;
  ConnectionShape shape_;
  DevicePlan plan_;
  std::vector<uint8_t> staging_;
};

constexpr size_t kMiB = size_t{1} << 20;

// The bytes grow with the connections of a rank, not with ranks x channels.
TEST(ManyRanks, TheMemoryOfARankIsBounded) {
  struct Bound {
    int size;
    size_t segment, tables, staged;
  };
  for (const Bound& bound : {Bound{64, 270 * kMiB, kMiB / 4, 1124 * kMiB}, Bound{512, 200 * kMiB, kMiB, 220 * kMiB},
                             Bound{4096, 200 * kMiB, 7 * kMiB, 560 * kMiB}}) {
    const PlanOfOneRank rank(bound.size);
    const DevicePlan& plan = rank.plan();
    std::printf("ranks=%d segment=%.1f MiB tables=%.2f MiB staged=%.1f MiB exchange slot=%u\n", bound.size,
                static_cast<double>(plan.segmentBytes()) / kMiB, static_cast<double>(plan.tableBytes()) / kMiB,
                static_cast<double>(rank.stagedBytes()) / kMiB, plan.exchangeShape().simpleSlotBytes());
    EXPECT_LE(plan.segmentBytes(), bound.segment) << bound.size;
    EXPECT_LE(plan.tableBytes(), bound.tables) << bound.size;
    EXPECT_LE(rank.stagedBytes(), bound.staged) << bound.size;
  }
}

TEST(ManyRanks, KernelsFindEveryConnectionOfThePlan) {
  for (const int size : {64, 72, 4096}) {
    PlanOfOneRank rank(size);
    const std::vector<const device::LinkEnd*> channels = rank.written();
    for (int channel = 0; channel < PlanOfOneRank::kChannels; ++channel) {
      for (int peer = 0; peer < size; ++peer) {
        const bool connected = rank.plan().connects(peer, channel);
        ASSERT_EQ(channels[channel][peer].block != nullptr, connected) << "peer=" << peer << " channel=" << channel;
        if (!connected) continue;
        ASSERT_EQ(channels[channel][peer].compact, !rank.plan().uses(peer, channel)) << peer;
      }
    }
    EXPECT_TRUE(rank.plan().connects(size - 1, 0));
  }
}

TEST(ManyRanks, TooManyRanksAreRefusedWithTheLimit) {
  device::DeviceCommunicatorConfig config;
  config.size = device::kMaxRanks + 1;
  std::unique_ptr<DeviceCommunicator> communicator;
  const Status status = DeviceCommunicator::create(config, communicator);
  EXPECT_EQ(status.message(), "rank=0 size=4097, expected at most 4096 ranks on GPUs");
}

// Nine ranks share each of eight emulated GPUs. Direct collectives run as rings; in an all-to-all, a rank has more queues
// than a block holds.
TEST(ManyRanks, SeventyTwoRanksRunEveryKindOfOperation) {
  if (!onEightGpus()) return;
  constexpr int kSize = 72;
  DeviceRuntimeRanks ranks(kSize, 1, kRanksOfHost);
  const Choice choices[] = {choiceOf(Algorithm::Ring, Protocol::Simple, 1), choiceOf(Algorithm::Tree, Protocol::LL, 1),
                            choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kTryZeroCopy)};
  for (const Choice& choice : choices) {
    SCOPED_TRACE(nameOf(choice.algorithm));
    Buffers buffers(kSize, 100);
    std::vector<Issued> issued;
    for (int rank = 0; rank < kSize; ++rank) {
      issued.push_back(allReduce(ranks, rank, buffers, choice, ranks.rank(rank).ownStream()));
      EXPECT_NE(issued.back().choice.algorithm, Algorithm::Direct);
    }
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
    }
    buffers.expectSum(1);
  }
  // Parts of several chunks and slots.
  constexpr size_t kPart = 12'000;
  std::vector<std::vector<int32_t>> sent(kSize), received(kSize, std::vector<int32_t>(kPart * kSize));
  std::vector<Issued> issued;
  for (int rank = 0; rank < kSize; ++rank) {
    for (int peer = 0; peer < kSize; ++peer) sent[rank].insert(sent[rank].end(), kPart, 1000 * rank + peer);
    issued.push_back(ranks.rank(rank).run(
        {Collective::AllToAll, DataType::Int32, ReduceOp::Sum}, choiceOf(Algorithm::Direct, Protocol::Simple, 1),
        sent[rank].data(), received[rank].data(), kPart, 0, kRuntimeLimitNanos, ranks.rank(rank).ownStream()));
  }
  for (int rank = 0; rank < kSize; ++rank) {
    ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
    for (int peer = 0; peer < kSize; ++peer) {
      const std::vector<int32_t> expected(kPart, 1000 * peer + rank);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), received[rank].begin() + peer * kPart));
    }
  }
}

// Runs a collective on all ranks, with `sent(rank, i)` as values, and checks that each rank has `expected(rank, i)`.
// `part` is the count that the call takes; a rank sends and receives the given numbers of elements.
template <class Sent, class Expected>
void runOnHosts(StagedRanks& ranks, Collective collective, Choice choice, size_t part, size_t sends, size_t receives,
                Sent&& sent, Expected&& expected) {
  SCOPED_TRACE(std::string(nameOf(collective)) + " by " + nameOf(choice.algorithm) + " with " +
               nameOf(choice.protocol));
  constexpr int kRoot = 70;
  std::vector<std::vector<int32_t>> from(ranks.size()), to(ranks.size());
  std::vector<Issued> issued;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    for (size_t i = 0; i < sends; ++i) from[rank].push_back(sent(rank, i));
    to[rank].assign(receives, -1);
    issued.push_back(ranks[rank].run({collective, DataType::Int32, ReduceOp::Sum}, choice, from[rank].data(),
                                     to[rank].data(), static_cast<int64_t>(part), kRoot, kLimitNanos,
                                     ranks[rank].ownStream()));
  }
  ASSERT_TRUE(ranks.awaitTogether(issued)) << ranks[0].lastError();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (collective == Collective::Reduce && rank != kRoot) continue;
    for (size_t i = 0; i < receives; ++i) ASSERT_EQ(to[rank][i], expected(rank, i)) << "rank=" << rank << " i=" << i;
  }
}

// A host has 64 ranks and another one 8, because a thread of each rank polls its connections over the network: nine hosts
// of eight ranks would have nine times as many of them.
TEST(ManyRanks, RanksOfTwoHostsRunEveryKindOfOperation) {
  if (!onEightGpus()) return;
  constexpr int kSize = 72;
  StagedRanks ranks(kSize, faultsOf(1), Slots::InHost, 64);
  const auto value = [](int rank, size_t i) { return static_cast<int32_t>(1000 * rank + static_cast<int>(i) % 997); };
  const auto sum = [](size_t i) { return 1000 * (kSize * (kSize - 1) / 2) + kSize * (static_cast<int>(i) % 997); };
  const auto summed = [&](int, size_t i) { return sum(i); };
  const Choice ring = choiceOf(Algorithm::Ring, Protocol::Simple, 2),
               direct = choiceOf(Algorithm::Direct, Protocol::Simple, 2);
  constexpr size_t kPart = 9;
  for (const Choice& choice : {ring, choiceOf(Algorithm::Tree, Protocol::LL, 2)}) {
    runOnHosts(ranks, Collective::AllReduce, choice, 500, 500, 500, value, summed);
  }
  runOnHosts(ranks, Collective::Reduce, ring, 500, 500, 500, value, summed);
  runOnHosts(ranks, Collective::Broadcast, ring, 500, 500, 500, value, [&](int, size_t i) { return value(70, i); });
  runOnHosts(ranks, Collective::AllGather, ring, kPart, kPart, kPart * kSize, value,
             [&](int, size_t i) { return value(static_cast<int>(i / kPart), i % kPart); });
  runOnHosts(ranks, Collective::ReduceScatter, ring, kPart, kPart * kSize, kPart, value,
             [&](int rank, size_t i) { return sum(rank * kPart + i); });
  runOnHosts(ranks, Collective::AllToAll, direct, kPart, kPart * kSize, kPart * kSize, value,
             [&](int rank, size_t i) { return value(static_cast<int>(i / kPart), rank * kPart + i % kPart); });
  // A group in which each rank sends to all others.
  std::vector<std::vector<int32_t>> sent(kSize), received(kSize, std::vector<int32_t>(kPart * kSize));
  std::vector<Issued> issued;
  for (int rank = 0; rank < kSize; ++rank) {
    sent[rank].assign(kPart, rank);
    ranks[rank].beginGroup();
    std::vector<PointToPointTask> tasks;
    for (int peer = 0; peer < kSize; ++peer) {
      tasks.push_back(
          {PointToPointTask::Kind::Send, peer, reinterpret_cast<uint8_t*>(sent[rank].data()), 4 * kPart, 5});
      tasks.push_back({PointToPointTask::Kind::Recv, peer,
                       reinterpret_cast<uint8_t*>(received[rank].data() + peer * kPart), 4 * kPart, 5});
    }
    EXPECT_EQ(ranks[rank].runPointToPoint({}, tasks, kLimitNanos, nullptr).code, Code::Ok);
    issued.push_back(ranks[rank].endGroup(kLimitNanos, ranks[rank].ownStream()));
  }
  ASSERT_TRUE(ranks.awaitTogether(issued)) << ranks[0].lastError();
  for (int rank = 0; rank < kSize; ++rank) {
    for (size_t i = 0; i < kPart * kSize; ++i) ASSERT_EQ(received[rank][i], static_cast<int32_t>(i / kPart)) << rank;
  }
}

}  // namespace
}  // namespace jccl::test::many_ranks_test
