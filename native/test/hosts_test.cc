// Tests of the schedules by hosts, through leaders and by shares.
#include <atomic>
#include <string>
#include <tuple>

#include "test/rank_threads.h"

namespace jccl::test::hosts_test {
namespace {

constexpr size_t kCounts[] = {0, 1, 7, 60, 250, 3001};

// The host of each rank, the protocol, the number of channels, and the flags of the choice in addition to kByHosts.
using Parameter = std::tuple<std::vector<int>, Protocol, int, uint16_t>;

int32_t valueOf(int rank, size_t i) { return static_cast<int32_t>((rank + 1) * 1000 + i % 997); }

class HostsTest : public ::testing::TestWithParam<Parameter> {
 protected:
  static const std::vector<int>& hosts() { return std::get<0>(GetParam()); }
  static int size() { return static_cast<int>(hosts().size()); }
  static Choice choice() {
    return choiceOf(Algorithm::Direct, std::get<1>(GetParam()), std::get<2>(GetParam()), 3000,
                    static_cast<uint16_t>(Choice::kByHosts | std::get<3>(GetParam())));
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

TEST_P(HostsTest, AllGatherTakesTheInputOutOfTheOutput) {
  forAll([](Engine& communicator, size_t count) {
    const size_t begin = static_cast<size_t>(communicator.rank()) * count;
    Guarded buffer(static_cast<size_t>(size()) * count * 4);
    for (size_t i = 0; i < count; ++i) buffer.set<int32_t>(begin + i, valueOf(communicator.rank(), i));
    const Code code =
        communicator.run({Collective::AllGather, DataType::Int32, ReduceOp::Sum}, choice(),
                         buffer.address() + begin * 4, buffer.address(), static_cast<int64_t>(count), 0, kTimeoutNanos);
    ASSERT_EQ(Code::Ok, code) << communicator.lastError();
    ASSERT_TRUE(buffer.intact());
    for (int rank = 0; rank < size(); ++rank) {
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(valueOf(rank, i), buffer.get<int32_t>(static_cast<size_t>(rank) * count + i));
      }
    }
  });
}

TEST_P(HostsTest, PartsMayDifferInSize) {
  forAll([](Engine& communicator, size_t count) {
    std::vector<int64_t> counts;
    std::vector<size_t> begins;
    size_t all = 0;
    for (int rank = 0; rank < size(); ++rank) {
      counts.push_back(rank == 1 ? 0 : static_cast<int64_t>(count / static_cast<size_t>(rank + 1)));
      begins.push_back(all);
      all += static_cast<size_t>(counts.back());
    }
    counts.insert(counts.end(), begins.begin(), begins.end());
    const auto own = static_cast<size_t>(communicator.rank());
    const auto runV = [&](Collective collective, Guarded& send, Guarded& recv) {
      const Code code = communicator.runV({collective, DataType::Int32, ReduceOp::Sum}, choice(), send.address(),
                                          recv.address(), counts, 0, kTimeoutNanos);
      ASSERT_EQ(Code::Ok, code) << communicator.lastError();
      ASSERT_TRUE(recv.intact());
    };
    Guarded part = filled(communicator.rank(), static_cast<size_t>(counts[own]));
    Guarded gathered(all * 4);
    runV(Collective::AllGather, part, gathered);
    for (size_t rank = 0; rank < begins.size(); ++rank) {
      for (size_t i = 0; i < static_cast<size_t>(counts[rank]); ++i) {
        ASSERT_EQ(valueOf(static_cast<int>(rank), i), gathered.get<int32_t>(begins[rank] + i));
      }
    }
    Guarded whole = filled(communicator.rank(), all);
    Guarded sum(static_cast<size_t>(counts[own]) * 4);
    runV(Collective::ReduceScatter, whole, sum);
    for (size_t i = 0; i < static_cast<size_t>(counts[own]); ++i)
      ASSERT_EQ(sumOf(begins[own] + i), sum.get<int32_t>(i));
  });
}

TEST_P(HostsTest, ReduceScatterGivesEachRankItsPartOfTheSum) {
  forAll([](Engine& communicator, size_t count) {
    Guarded send = filled(communicator.rank(), static_cast<size_t>(size()) * count);
    Guarded recv(count * 4);
    run(communicator, Collective::ReduceScatter, send, recv, count, 0);
    const size_t begin = static_cast<size_t>(communicator.rank()) * count;
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(sumOf(begin + i), recv.get<int32_t>(i));
    const Code code =
        communicator.run({Collective::ReduceScatter, DataType::Int32, ReduceOp::Sum}, choice(), send.address(),
                         send.address() + begin * 4, static_cast<int64_t>(count), 0, kTimeoutNanos);
    ASSERT_EQ(Code::Ok, code) << communicator.lastError();
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(sumOf(begin + i), send.get<int32_t>(begin + i)) << "in place";
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
  const auto& [hosts, protocol, channels, flags] = info.param;
  std::string name = "hosts";
  for (const int host : hosts) name += std::to_string(host);
  name += std::string("_") + nameOf(protocol) + "_" + std::to_string(channels);
  return name + (flags == Choice::kTwoShot ? "_shares" : flags == Choice::kInRounds ? "_rounds" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HostsTest,
    ::testing::Combine(::testing::Values(std::vector<int>{0, 1}, std::vector<int>{0, 0}, std::vector<int>{0, 0, 1, 1},
                                         std::vector<int>{0, 0, 0, 1, 2, 2}, std::vector<int>{0, 1, 1},
                                         std::vector<int>{0, 1, 0, 1, 2}, std::vector<int>{0, 0, 0, 1, 2, 2, 1},
                                         std::vector<int>{0, 1, 1, 1}, std::vector<int>{0, 1, 2, 3},
                                         std::vector<int>{0, 1, 2, 3, 3, 4, 5}),
                       ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple), ::testing::Values(1, 2),
                       ::testing::Values(uint16_t{0}, Choice::kTwoShot, Choice::kInRounds)),
    nameOfCase);

// A leader that lacks the data of one of its members forwards nothing that other ranks would take for the result.
TEST(Hosts, NoRankGetsAResultThatLacksARank) {
  constexpr size_t kCount = 8;
  const auto expectTimeouts = [](Collective collective, Protocol protocol, uint16_t flags) {
    RankThreads ranks(5);
    for (int rank = 0; rank < 5; ++rank) ASSERT_TRUE(ranks[rank].setHosts({0, 0, 0, 1, 1}).isOk());
    ranks.run([&](Engine& communicator) {
      if (communicator.rank() == 1) return;
      Guarded send(5 * kCount * 4), recv(5 * kCount * 4);
      const int64_t timeout = communicator.rank() == 0 ? kTimeoutNanos / 200 : kTimeoutNanos / 50;
      const Code code = communicator.run({collective, DataType::Int32, ReduceOp::Sum},
                                         choiceOf(Algorithm::Direct, protocol, 1, 0, flags), send.address(),
                                         recv.address(), kCount, 0, timeout);
      EXPECT_EQ(Code::Timeout, code) << nameOf(collective) << " rank=" << communicator.rank();
    });
  };
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll}) {
      expectTimeouts(collective, protocol, Choice::kByHosts);
      expectTimeouts(collective, protocol, Choice::kByHosts | Choice::kTwoShot);
      expectTimeouts(collective, protocol, Choice::kByHosts | Choice::kInRounds);
    }
  }
}

// Two ranks pass on to each other the data of nine ranks each, which is more than a connection has slots.
TEST(Hosts, RanksThatServeMoreRanksThanSlotsDoNotBlockEachOther) {
  constexpr size_t kCount = 700;
  std::vector<int> hosts(20, 0);
  hosts[3] = hosts[19] = 1;
  RankThreads ranks(20);
  for (int rank = 0; rank < 20; ++rank) ASSERT_TRUE(ranks[rank].setHosts(hosts).isOk());
  const auto sumOf = [](size_t i) {
    int32_t sum = 0;
    for (int rank = 0; rank < 20; ++rank) sum += valueOf(rank, i);
    return sum;
  };
  ranks.run([&](Engine& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    const auto run = [&](Collective collective, Guarded& send, Guarded& recv, size_t count) {
      const Choice choice = choiceOf(Algorithm::Direct, Protocol::Simple, 1, 1000, Choice::kByHosts | Choice::kTwoShot);
      ASSERT_EQ(Code::Ok, communicator.run({collective, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                                           recv.address(), static_cast<int64_t>(count), 0, kTimeoutNanos))
          << communicator.lastError();
    };
    Guarded send(20 * kCount * 4), recv(20 * kCount * 4);
    for (size_t i = 0; i < 20 * kCount; ++i) send.set<int32_t>(i, valueOf(communicator.rank(), i));
    run(Collective::AllReduce, send, recv, 20 * kCount);
    for (size_t i = 0; i < 20 * kCount; ++i) ASSERT_EQ(sumOf(i), recv.get<int32_t>(i));
    run(Collective::ReduceScatter, send, recv, kCount);
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(sumOf(rank * kCount + i), recv.get<int32_t>(i));
    run(Collective::AllGather, send, recv, kCount);
    for (size_t i = 0; i < 20 * kCount; ++i) {
      ASSERT_EQ(valueOf(static_cast<int>(i / kCount), i % kCount), recv.get<int32_t>(i));
    }
  });
}

TEST(Hosts, AreNumberedInTheOrderOfTheirFirstRanks) {
  RankThreads ranks(3);
  for (const std::vector<int>& wrong : {std::vector<int>{0, 0}, {1, 0, 0}, {0, 2, 1}, {0, -1, 0}}) {
    EXPECT_EQ(Code::Invalid, ranks[0].setHosts(wrong).code());
  }
}

}  // namespace
}  // namespace jccl::test::hosts_test
