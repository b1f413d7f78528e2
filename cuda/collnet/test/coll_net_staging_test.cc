// Tests of ranks on GPUs of hosts whose network reduces (CollNet). They cover kernels, slots in host memory and the
// leaders' threads, with a plug-in of the tests and a process that simulates the plug-in's switch.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "collnet/coll_net_member.h"
#include "collnet/test/switch_process.h"
#include "cuda/collnet/coll_net_algorithm.h"
#include "cuda/test/eight_gpus.h"
#include "cuda/test/staged_ranks.h"

namespace jccl::test::coll_net_staging_test {
namespace {

constexpr int64_t kBriefNanos = 300'000'000;

device::CollNetAlgorithm& collNetOf(StagedRanks& ranks, int rank) {
  return ranks[rank].added<device::CollNetAlgorithm>();
}

// Connects ranks with a network that reduces on all channels, by a plug-in.
class CollNetAddition : public StagedAddition {
 public:
  explicit CollNetAddition(const char* plugin) : plugin_(plugin) {}

  void configure(CommunicatorConfig& config) override {
    config.peerTimeoutNanos = 2'000'000'000;  // also limits calls of the plug-in
  }

  void layOut(StagedRanks& ranks, int rank) override {
    for (int channel = 0; channel < kChannels; ++channel) {
      expectOk(collNetOf(ranks, rank).setChain(channel, chainOf(ranks, rank, channel)));
      setHostTree(ranks, rank, channel);
    }
  }

  void connect(StagedRanks& ranks) override {
    std::vector<std::vector<uint8_t>> offers(static_cast<size_t>(ranks.size()));
    for (int rank = 0; rank < ranks.size(); ++rank) {
      expectOk(memberOf(ranks, rank).offer(plugin_, &offers[rank]));
    }
    CollNetOffer common;
    expectOk(CollNetOffer::common(offers, &common));
    for (int group = 0; group < kChannels; ++group) {
      std::vector<std::vector<uint8_t>> handles(static_cast<size_t>(ranks.hosts()));
      for (int host = 0; host < ranks.hosts(); ++host) {
        expectOk(memberOf(ranks, chained(ranks, host, group, 0)).listen(group, &handles[host]));
      }
      std::vector<std::thread> threads;
      for (int host = 0; host < ranks.hosts(); ++host) {
        threads.emplace_back([&, host] {
          CollNetMember& leader = memberOf(ranks, chained(ranks, host, group, 0));
          expectOk(leader.connect(group, handles, host, kLimitNanos));
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    for (int rank = 0; rank < ranks.size(); ++rank) {
      std::vector<StagedEnds> ends;
      expectOk(memberOf(ranks, rank).stage(kChannels, common, ranks.ranksOfHost(), ends));
      expectOk(collNetOf(ranks, rank).connect(ends, common, ranks.host(rank).memory()));
    }
  }

 private:
  static CollNetMember& memberOf(StagedRanks& ranks, int rank) { return ranks.host(rank).attachment<CollNetMember>(); }
  static void expectOk(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  // Returns the rank at a place of a host's chain. The chain of each channel begins with another rank.
  static int chained(const StagedRanks& ranks, int host, int channel, int place) {
    return host * ranks.ranksOfHost() + (channel + place) % ranks.ranksOfHost();
  }
  static int placeOf(const StagedRanks& ranks, int rank, int channel) {
    int place = 0;
    while (chained(ranks, ranks.hostOf(rank), channel, place) != rank) ++place;
    return place;
  }

  static void setHostTree(StagedRanks& ranks, int rank, int channel) {
    const int host = ranks.hostOf(rank), place = placeOf(ranks, rank, channel);
    std::vector<int> down;
    for (const int below : {2 * place + 1, 2 * place + 2}) {
      if (below < ranks.ranksOfHost()) down.push_back(chained(ranks, host, channel, below));
    }
    const int up = place == 0 ? -1 : chained(ranks, host, channel, (place - 1) / 2);
    expectOk(collNetOf(ranks, rank).setHostTree(channel, up, down));
  }

  static device::CollNetChain chainOf(const StagedRanks& ranks, int rank, int channel) {
    const int host = ranks.hostOf(rank), place = placeOf(ranks, rank, channel);
    device::CollNetChain chain;
    chain.ranks = ranks.ranksOfHost() - place;
    for (int below = place + 1; below < ranks.ranksOfHost(); ++below) {
      if (chained(ranks, host, channel, below) < rank) ++chain.place;
    }
    if (place + 1 < ranks.ranksOfHost()) chain.down = chained(ranks, host, channel, place + 1);
    if (place > 0) {
      chain.up = chained(ranks, host, channel, place - 1);
    } else {
      chain.leaderAfter = chained(ranks, (host + 1) % ranks.hosts(), channel, 0);
      chain.leaderBefore = chained(ranks, (host + ranks.hosts() - 1) % ranks.hosts(), channel, 0);
    }
    return chain;
  }

  const char* const plugin_;
};

struct CollNetStagedRanks {
  CollNetStagedRanks(int hosts, int ranksOfHost, int version = 12)
      : addition(collNetPlugin(version)),
        ranks(hosts * ranksOfHost, faultsOf(5), Slots::InHost, ranksOfHost, &addition) {}

  const Devices devices{kChannels};
  SwitchProcess networkSwitch;
  CollNetAddition addition;
  StagedRanks ranks;
};

Choice by(Algorithm algorithm, int channels = kChannels, uint32_t chunkBytes = 0) {
  Choice choice = choiceOf(algorithm, Protocol::Simple, channels);
  choice.chunkBytes = chunkBytes;
  return choice;
}

Choice chain(int channels = kChannels, uint32_t chunkBytes = 0) {
  return by(Algorithm::CollNetChain, channels, chunkBytes);
}

class CollNetStaging : public ::testing::TestWithParam<int> {};

TEST_P(CollNetStaging, SumsOfAllSizesAreRight) {
  CollNetStagedRanks all(3, 2, GetParam());
  std::mt19937_64 random(1);
  for (int round = 0; round < 8 && !HasFatalFailure(); ++round) {
    const Algorithm algorithm = round % 2 == 0 ? Algorithm::CollNetChain : Algorithm::CollNetDirect;
    sumUp(all.ranks, by(algorithm, 1 + round / 2 % kChannels, round % 3 == 0 ? 512 : 0), random);
    sumUp(all.ranks, choiceBy(random), random);
  }
  const OperationCode sum = {Collective::AllReduce, DataType::Int32, ReduceOp::Sum};
  EXPECT_EQ(all.ranks[0].adjustChoice(chain(), sum).algorithm, Algorithm::CollNetChain);
}

INSTANTIATE_TEST_SUITE_P(Versions, CollNetStaging, ::testing::Values(6, 8, 12));

// Runs an operation on `count` elements and returns each rank's results. Integers are small, and reductions of other
// types get zeros, so that results are exact in any order. If `inPlace`, a rank's part is in the buffer of all parts.
std::vector<std::vector<uint8_t>> resultsOf(StagedRanks& ranks, OperationCode code, const Choice& choice, size_t count,
                                            bool inPlace = false) {
  const auto size = static_cast<size_t>(ranks.size());
  const size_t element = sizeOf(code.type), bytes = count * element;
  const bool gathers = code.collective == Collective::AllGather;
  const bool scatters = code.collective == Collective::ReduceScatter;
  std::vector<std::vector<uint8_t>> sends(size, std::vector<uint8_t>(scatters ? size * bytes : bytes));
  std::vector<std::vector<uint8_t>> recvs(size, std::vector<uint8_t>(gathers ? size * bytes : bytes));
  std::vector<Issued> issued;
  for (size_t rank = 0; rank < size; ++rank) {
    std::vector<uint8_t>& send = sends[rank];
    for (size_t i = 0; (gathers || isInteger(code.type)) && i < send.size(); i += element) {
      send[i] = static_cast<uint8_t>(i / element % 5 + rank);
    }
    uint8_t* from = send.data();
    uint8_t* to = recvs[rank].data();
    if (inPlace && scatters) to = from + rank * bytes;
    if (inPlace && gathers) from = std::copy(send.begin(), send.end(), to + rank * bytes) - bytes;
    const int number = static_cast<int>(rank);
    issued.push_back(ranks[number].run(code, choice, from, to, static_cast<int64_t>(count), 0, kLimitNanos,
                                       ranks[number].ownStream()));
  }
  for (size_t rank = 0; rank < size; ++rank) {
    const int number = static_cast<int>(rank);
    EXPECT_EQ(ranks.await(number, issued[rank]), Code::Ok) << ranks[number].lastError();
    if (inPlace && scatters) std::copy_n(sends[rank].begin() + rank * bytes, bytes, recvs[rank].begin());
  }
  return recvs;
}

Choice ring() { return choiceOf(Algorithm::Ring, Protocol::Simple, kChannels); }

TEST(CollNetStaged, EveryOperationAndTypeOfTheNetworkEqualsARing) {
  CollNetStagedRanks all(2, 2);
  std::array<int, kCollectiveCount> done{};
  for (const Collective collective : {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter}) {
    for (int type = 0; type < kDataTypeCount; ++type) {
      for (int op = 0; op < kReduceOpCount; ++op) {
        const OperationCode code = {collective, static_cast<DataType>(type), static_cast<ReduceOp>(op)};
        if (!code.valid() || all.ranks[0].adjustChoice(chain(), code).algorithm != Algorithm::CollNetChain) continue;
        ++done[static_cast<size_t>(collective)];
        SCOPED_TRACE(std::string(nameOf(collective)) + ", " + nameOf(code.op) + " of " + nameOf(code.type));
        EXPECT_EQ(resultsOf(all.ranks, code, chain(), 700), resultsOf(all.ranks, code, ring(), 700));
      }
    }
  }
  EXPECT_GT(done[static_cast<size_t>(Collective::AllReduce)], 20);
  EXPECT_EQ(done[static_cast<size_t>(Collective::ReduceScatter)], done[static_cast<size_t>(Collective::AllReduce)]);
  EXPECT_GE(done[static_cast<size_t>(Collective::AllGather)], kDataTypeCount);
}

class CollNetTrees : public ::testing::TestWithParam<int> {};

// With 4 ranks, the tree of a host has two levels. The emulated GPU then has room for only one block of each rank.
TEST_P(CollNetTrees, ReductionsEqualThoseOfAChain) {
  CollNetStagedRanks all(2, GetParam());
  const int channels = GetParam() < 4 ? kChannels : 1;
  std::mt19937_64 random(4);
  for (int round = 0; round < 12 && !HasFatalFailure(); ++round) {
    const OperationCode code = {Collective::AllReduce, DataType::Int32, round % 3 == 0 ? ReduceOp::Max : ReduceOp::Sum};
    const Choice direct = by(Algorithm::CollNetDirect, 1 + round % channels, round % 4 == 0 ? 256 : 0);
    const size_t count = random() % (round % 4 == 1 ? 3 : 9000);
    SCOPED_TRACE(std::to_string(count));
    EXPECT_EQ(all.ranks[0].adjustChoice(direct, code).algorithm, Algorithm::CollNetDirect);
    EXPECT_EQ(resultsOf(all.ranks, code, direct, count), resultsOf(all.ranks, code, chain(channels), count));
    sumUp(all.ranks, direct, random);
  }
}

INSTANTIATE_TEST_SUITE_P(RanksOfHost, CollNetTrees, ::testing::Values(1, 3, 4));

class CollNetParts : public ::testing::TestWithParam<int> {};

TEST_P(CollNetParts, OfAllSizesAreRight) {
  CollNetStagedRanks all(2, GetParam());
  std::mt19937_64 random(2);
  for (int round = 0; round < 24 && !HasFatalFailure(); ++round) {
    constexpr std::array<Collective, 3> kCollectives = {Collective::AllGather, Collective::ReduceScatter,
                                                        Collective::AllReduce};
    const OperationCode code = {kCollectives[random() % 3], DataType::Int32, ReduceOp::Sum};
    const size_t count = random() % (round % 4 == 0 ? 3 : 9000);
    const Choice choice = chain(1 + round % kChannels, round % 3 == 0 ? 256 : 0);
    const bool inPlace = round % 2 == 0 && code.collective != Collective::AllReduce;
    SCOPED_TRACE(std::string(nameOf(code.collective)) + " of " + std::to_string(count));
    EXPECT_EQ(all.ranks[0].adjustChoice(choice, code).algorithm, Algorithm::CollNetChain);
    EXPECT_EQ(resultsOf(all.ranks, code, choice, count, inPlace), resultsOf(all.ranks, code, ring(), count));
  }
}

INSTANTIATE_TEST_SUITE_P(RanksOfHost, CollNetParts, ::testing::Values(1, 2, 3));

TEST(CollNetStaged, ServesMoreRanksThanABlockHasConnectionsFor) {
  if (!onEightGpus()) return;
  constexpr int kRanksOfHost = 33;
  CollNetStagedRanks all(2, kRanksOfHost);
  for (const Collective collective : {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter}) {
    const OperationCode code = {collective, DataType::Int32, ReduceOp::Sum};
    SCOPED_TRACE(nameOf(collective));
    EXPECT_EQ(all.ranks[0].adjustChoice(chain(), code).algorithm, Algorithm::CollNetChain);
    EXPECT_EQ(resultsOf(all.ranks, code, chain(), 70), resultsOf(all.ranks, code, ring(), 70));
  }
  std::mt19937_64 random(3);
  sumUp(all.ranks, by(Algorithm::CollNetDirect), random);
}

TEST(CollNetStaged, OperationsThatTheNetworkDoesNotReduceUseARing) {
  CollNetStagedRanks all(2, 1), old(2, 1, 6);
  const auto algorithmOf = [](CollNetStagedRanks& network, Collective collective, ReduceOp op) {
    return network.ranks[0].adjustChoice(chain(), OperationCode{collective, DataType::Int32, op}).algorithm;
  };
  EXPECT_EQ(algorithmOf(all, Collective::AllReduce, ReduceOp::Sum), Algorithm::CollNetChain);
  const OperationCode gathers = {Collective::AllGather, DataType::Int32, ReduceOp::Sum};
  EXPECT_EQ(all.ranks[0].adjustChoice(by(Algorithm::CollNetDirect), gathers).algorithm, Algorithm::CollNetChain);
  EXPECT_EQ(algorithmOf(all, Collective::AllReduce, ReduceOp::Xor), Algorithm::Ring);
  EXPECT_EQ(algorithmOf(all, Collective::ReduceScatter, ReduceOp::Xor), Algorithm::Ring);
  EXPECT_EQ(algorithmOf(all, Collective::Barrier, ReduceOp::Sum), Algorithm::Ring);
  EXPECT_EQ(algorithmOf(all, Collective::Broadcast, ReduceOp::Sum), Algorithm::Ring);
  EXPECT_EQ(algorithmOf(old, Collective::AllReduce, ReduceOp::Sum), Algorithm::CollNetChain);
  EXPECT_EQ(algorithmOf(old, Collective::AllGather, ReduceOp::Sum), Algorithm::Ring);
}

TEST(CollNetStaged, TheTreeOfAHostBeginsAtTheLeader) {
  CollNetStagedRanks all(2, 2);
  EXPECT_EQ(collNetOf(all.ranks, 0).setHostTree(0, 1, {}).code(), Code::Invalid);
  EXPECT_EQ(collNetOf(all.ranks, 1).setHostTree(0, -1, {}).code(), Code::Invalid);
  EXPECT_NE(all.ranks[1].lastError().find("expected -1 of the leader"), std::string::npos) << all.ranks[1].lastError();
  EXPECT_TRUE(collNetOf(all.ranks, 1).setHostTree(0, 0, {}).isOk());
}

// The network sees the same sum on both hosts, so only the leaders' own messages show the mismatch.
TEST(CollNetStaged, AnotherOperationOnAHostIsAMismatch) {
  CollNetStagedRanks all(2, 1);
  std::vector<std::vector<float>> buffers(2, std::vector<float>(100, 1));
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    const OperationCode code = {Collective::AllReduce, DataType::Float32, rank == 0 ? ReduceOp::Sum : ReduceOp::Avg};
    float* buffer = buffers[rank].data();
    issued.push_back(
        all.ranks[rank].run(code, chain(), buffer, buffer, 100, 0, kLimitNanos, all.ranks[rank].ownStream()));
  }
  std::vector<Code> ends;
  EXPECT_FALSE(all.ranks.awaitTogether(issued, &ends));
  EXPECT_TRUE(std::count(ends.begin(), ends.end(), Code::Mismatch) > 0) << static_cast<int>(ends[0]);
}

TEST(CollNetStaged, ALatePlugInIsWaitedFor) {
  const Fault fault("late");
  CollNetStagedRanks all(2, 2);
  std::mt19937_64 random(3);
  for (int round = 0; round < 4 && !HasFatalFailure(); ++round) sumUp(all.ranks, chain(), random);
}

// Expects that within 100 operations a rank's kernels end with the network's failure, and that an error contains
// `text`.
void expectFailure(const char* name, const char* text) {
  const Fault fault(name);
  CollNetStagedRanks all(2, 1);
  std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(100, 1));
  std::vector<Code> ends(2, Code::Ok);
  for (int round = 0; round < 100 && ends[0] == Code::Ok && ends[1] == Code::Ok; ++round) {
    std::vector<Issued> issued;
    for (int rank = 0; rank < 2; ++rank) issued.push_back(all.ranks.allReduce(rank, chain(1), buffers[rank]));
    all.ranks.awaitTogether(issued, &ends);
  }
  EXPECT_TRUE(std::count(ends.begin(), ends.end(), Code::Transport) > 0) << static_cast<int>(ends[0]);
  const std::string errors = all.ranks.host(0).lastError() + all.ranks.host(1).lastError();
  EXPECT_NE(errors.find(text), std::string::npos) << errors;
}

TEST(CollNetStaged, AnErrorOfThePlugInEndsTheKernels) { expectFailure("error", "collnet plug-in"); }

TEST(CollNetStaged, ACallThatDoesNotReturnEndsTheKernels) {
  const Variable length("JCCL_TEST_COLLNET_BLOCK_MS", "60000");
  expectFailure("blocks=iallreduce", "iallreduce");
}

TEST(CollNetStaged, ASwitchThatIsGoneEndsTheKernels) {
  CollNetStagedRanks all(2, 2);
  all.networkSwitch.kill();
  std::vector<std::vector<int32_t>> buffers(4, std::vector<int32_t>(5000, 1));
  std::vector<Issued> issued;
  for (int rank = 0; rank < 4; ++rank) issued.push_back(all.ranks.allReduce(rank, chain(), buffers[rank]));
  EXPECT_FALSE(all.ranks.awaitTogether(issued));
}

TEST(CollNetStaged, AWaitForTheNetworkIsShown) {
  CollNetStagedRanks all(2, 1);
  std::vector<int32_t> buffer(100, 1);
  const Issued alone = all.ranks.allReduce(0, chain(1), buffer, kBriefNanos);
  EXPECT_EQ(all.ranks.await(0, alone), Code::Timeout);
  const std::vector<ChannelWait> waits = all.ranks[0].waiting();
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].place.waitFor, WaitFor::CollNet);
  EXPECT_EQ(waits[0].place.peer, 1);
}

}  // namespace
}  // namespace jccl::test::coll_net_staging_test
