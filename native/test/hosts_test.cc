// Tests of the schedules by hosts, in which only the leader of each host sends to other hosts.
#include <atomic>
#include <string>
#include <tuple>

#include "test/rank_threads.h"

namespace jccl::test::hosts_test {
namespace {

constexpr size_t kCounts[] = {0, 1, 7, 60, 250, 3001};

// The host of each rank, the protocol, and the number of channels.
using Parameter = std::tuple<std::vector<int>, Protocol, int>;

int32_t valueOf(int rank, size_t i) { return static_cast<int32_t>((rank + 1) * 1000 + i % 997); }

class HostsTest : public ::testing::TestWithParam<Parameter> {
 protected:
  static const std::vector<int>& hosts() { return std::get<0>(GetParam()); }
  static int size() { return static_cast<int>(hosts().size()); }
  static Choice choice() {
    return choiceOf(Algorithm::Direct, std::get<1>(GetParam()), std::get<2>(GetParam()), 3000, Choice::kByHosts);
  }

  static int32_t sumOf(size_t i) {
    int32_t sum = 0;
    for (int rank = 0; rank < size(); ++rank) sum += valueOf(rank, i);
    return sum;
  }

  // Runs the body for every count on all ranks.
  void forAll(const std::function<void(Engine&, size_t count)>& body) {
    for (int rank = 0; rank < size(); ++rank) {
      const Status set = ranks_[rank].setHosts(hosts());
      ASSERT_TRUE(set.isOk()) << set.message();
    }
    ranks_.run([&](Engine& communicator) {
      for (const size_t count : kCounts) body(communicator, count);
    });
  }

  static void run(Engine& communicator, Collective collective, Guarded& send, Guarded& recv, size_t count, int root) {
    const Code code = communicator.run({collective, DataType::Int32, ReduceOp::Sum}, choice(), send.address(),
                                       recv.address(), static_cast<int64_t>(count), root, kTimeoutNanos);
    ASSERT_EQ(Code::Ok, code) << communicator.lastError();
    ASSERT_TRUE(recv.intact());
  }

  static Guarded filled(int rank, size_t count) {
    Guarded buffer(count * 4, count % 3 == 1 ? 1 : 0);
    for (size_t i = 0; i < count; ++i) buffer.set<int32_t>(i, valueOf(rank, i));
    return buffer;
  }

  RankThreads ranks_{static_cast<int>(std::get<0>(GetParam()).size()), std::get<2>(GetParam())};
};

TEST_P(HostsTest, AllReduceSumsOverAllHosts) {
  forAll([](Engine& communicator, size_t count) {
    for (const bool inPlace : {false, true}) {
      Guarded send = filled(communicator.rank(), count);
      Guarded recv(count * 4);
      run(communicator, Collective::AllReduce, send, inPlace ? send : recv, count, 0);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(sumOf(i), (inPlace ? send : recv).get<int32_t>(i));
    }
  });
}

TEST_P(HostsTest, BroadcastReachesEveryRankFromEveryRoot) {
  forAll([](Engine& communicator, size_t count) {
    for (int root = 0; root < communicator.size(); ++root) {
      Guarded send = filled(communicator.rank(), count);
      Guarded recv(count * 4);
      run(communicator, Collective::Broadcast, send, recv, count, root);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(valueOf(root, i), recv.get<int32_t>(i));
    }
  });
}

TEST_P(HostsTest, ReduceEndsAtEveryRoot) {
  forAll([](Engine& communicator, size_t count) {
    for (int root = 0; root < communicator.size(); ++root) {
      Guarded send = filled(communicator.rank(), count);
      Guarded recv(count * 4);
      run(communicator, Collective::Reduce, send, recv, count, root);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(communicator.rank() == root ? sumOf(i) : 0, recv.get<int32_t>(i));
      }
    }
  });
}

TEST_P(HostsTest, AllGatherOrdersByRank) {
  forAll([](Engine& communicator, size_t count) {
    Guarded send = filled(communicator.rank(), count);
    Guarded recv(static_cast<size_t>(size()) * count * 4);
    run(communicator, Collective::AllGather, send, recv, count, 0);
    for (int rank = 0; rank < size(); ++rank) {
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(valueOf(rank, i), recv.get<int32_t>(static_cast<size_t>(rank) * count + i));
      }
    }
  });
}

TEST_P(HostsTest, ReduceScatterGivesEachRankItsPartOfTheSum) {
  forAll([](Engine& communicator, size_t count) {
    Guarded send = filled(communicator.rank(), static_cast<size_t>(size()) * count);
    Guarded recv(count * 4);
    run(communicator, Collective::ReduceScatter, send, recv, count, 0);
    const size_t begin = static_cast<size_t>(communicator.rank()) * count;
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(sumOf(begin + i), recv.get<int32_t>(i));
  });
}

TEST_P(HostsTest, AllToAllGivesEachRankItsBlocks) {
  forAll([](Engine& communicator, size_t count) {
    const size_t all = static_cast<size_t>(size()) * count;
    Guarded send = filled(communicator.rank(), all);
    Guarded recv(all * 4);
    run(communicator, Collective::AllToAll, send, recv, count, 0);
    for (int rank = 0; rank < size(); ++rank) {
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(valueOf(rank, static_cast<size_t>(communicator.rank()) * count + i),
                  recv.get<int32_t>(static_cast<size_t>(rank) * count + i));
      }
    }
    for (size_t i = 0; i < all; ++i) ASSERT_EQ(valueOf(communicator.rank(), i), send.get<int32_t>(i));
  });
}

TEST_P(HostsTest, ABarrierWaitsForAll) {
  std::atomic<int> here{0};
  forAll([&](Engine& communicator, size_t) {
    Guarded none(0);
    ++here;
    run(communicator, Collective::Barrier, none, none, 0, 0);
    EXPECT_EQ(0, here.load() % size());
    run(communicator, Collective::Barrier, none, none, 0, 0);
  });
}

std::string nameOfCase(const ::testing::TestParamInfo<Parameter>& info) {
  const auto& [hosts, protocol, channels] = info.param;
  std::string name = "hosts";
  for (const int host : hosts) name += std::to_string(host);
  return name + "_" + nameOf(protocol) + "_" + std::to_string(channels);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HostsTest,
    ::testing::Combine(::testing::Values(std::vector<int>{0, 1}, std::vector<int>{0, 0}, std::vector<int>{0, 0, 1, 1},
                                         std::vector<int>{0, 0, 0, 1, 2, 2}, std::vector<int>{0, 1, 1},
                                         std::vector<int>{0, 1, 0, 1, 2}, std::vector<int>{0, 0, 0, 1, 2, 2, 1}),
                       ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple), ::testing::Values(1, 2)),
    nameOfCase);

// A leader that lacks the data of one of its members forwards nothing that other ranks would take for the result.
TEST(Hosts, NoRankGetsAResultThatLacksARank) {
  constexpr size_t kCount = 8;
  for (const Collective collective :
       {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll}) {
    for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
      RankThreads ranks(5);
      for (int rank = 0; rank < 5; ++rank) ASSERT_TRUE(ranks[rank].setHosts({0, 0, 0, 1, 1}).isOk());
      ranks.run([&](Engine& communicator) {
        if (communicator.rank() == 1) return;
        Guarded send(5 * kCount * 4), recv(5 * kCount * 4);
        const int64_t timeout = communicator.rank() == 0 ? kTimeoutNanos / 200 : kTimeoutNanos / 50;
        const Code code = communicator.run({collective, DataType::Int32, ReduceOp::Sum},
                                           choiceOf(Algorithm::Direct, protocol, 1, 0, Choice::kByHosts),
                                           send.address(), recv.address(), kCount, 0, timeout);
        EXPECT_EQ(Code::Timeout, code) << nameOf(collective) << " rank=" << communicator.rank();
      });
    }
  }
}

TEST(Hosts, AreNumberedInTheOrderOfTheirFirstRanks) {
  RankThreads ranks(3);
  for (const std::vector<int>& wrong : {std::vector<int>{0, 0}, {1, 0, 0}, {0, 2, 1}, {0, -1, 0}}) {
    EXPECT_EQ(Code::Invalid, ranks[0].setHosts(wrong).code());
  }
}

}  // namespace
}  // namespace jccl::test::hosts_test
