// Tests of the collectives other than all-reduce, with all algorithms and protocols: v-forms, roots, groups of sends
// and receives.
#include <tuple>

#include "test/rank_threads.h"

namespace jccl::test::collectives_test {
namespace {

constexpr size_t kCounts[] = {0, 1, 7, 250, 3001};

int32_t valueOf(int rank, size_t i) { return static_cast<int32_t>((rank + 1) * 1000 + i % 997); }
int32_t sumOf(int ranks, size_t i) {
  return static_cast<int32_t>(ranks * (ranks + 1) / 2 * 1000 + ranks * static_cast<int>(i % 997));
}

using Parameter = std::tuple<int, Algorithm, Protocol, int>;

class CollectivesTest : public ::testing::TestWithParam<Parameter> {
 protected:
  // Runs the body for every count on all ranks.
  void forAll(const std::function<void(Engine&, size_t count, Choice choice)>& body) {
    const auto [ranks, algorithm, protocol, channels] = GetParam();
    RankThreads threads(ranks, channels);
    for (const uint16_t flags : {uint16_t{0}, Choice::kTryZeroCopy}) {
      const Choice choice = choiceOf(algorithm, protocol, channels, 3000, flags);
      threads.run([&](Engine& communicator) {
        for (const size_t count : kCounts) body(communicator, count, choice);
      });
    }
  }

  static void expectOk(Engine& communicator, Code code) { ASSERT_EQ(code, Code::Ok) << communicator.lastError(); }

  static Guarded filled(int rank, size_t count) {
    Guarded buffer(count * 4, count % 3 == 1 ? 1 : 0);
    for (size_t i = 0; i < count; ++i) buffer.set<int32_t>(i, valueOf(rank, i));
    return buffer;
  }
};

TEST_P(CollectivesTest, BroadcastReachesEveryRankFromEveryRoot) {
  forAll([](Engine& communicator, size_t count, Choice choice) {
    for (int root = 0; root < communicator.size(); ++root) {
      Guarded send = filled(communicator.rank(), count);
      Guarded recv(count * 4);
      expectOk(communicator,
               communicator.run({Collective::Broadcast, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                                recv.address(), static_cast<int64_t>(count), root, kTimeoutNanos));
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(recv.get<int32_t>(i), valueOf(root, i));
      ASSERT_TRUE(recv.intact());
    }
  });
}

TEST_P(CollectivesTest, ReduceEndsAtEveryRoot) {
  forAll([](Engine& communicator, size_t count, Choice choice) {
    for (int root = 0; root < communicator.size(); ++root) {
      Guarded send = filled(communicator.rank(), count);
      Guarded recv(count * 4);
      expectOk(communicator,
               communicator.run({Collective::Reduce, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                                recv.address(), static_cast<int64_t>(count), root, kTimeoutNanos));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(recv.get<int32_t>(i), communicator.rank() == root ? sumOf(communicator.size(), i) : 0);
      }
      ASSERT_TRUE(recv.intact());
    }
  });
}

TEST_P(CollectivesTest, AllGatherOrdersByRank) {
  forAll([](Engine& communicator, size_t count, Choice choice) {
    const size_t size = communicator.size();
    for (const bool inPlace : {false, true}) {
      Guarded send = filled(communicator.rank(), count);
      Guarded recv(size * count * 4, 0, 0xEE);
      uint8_t* own = recv.data() + communicator.rank() * count * 4;
      if (inPlace) std::memcpy(own, send.data(), count * 4);
      expectOk(communicator, communicator.run({Collective::AllGather, DataType::Int32, ReduceOp::Sum}, choice,
                                              inPlace ? reinterpret_cast<uint64_t>(own) : send.address(),
                                              recv.address(), static_cast<int64_t>(count), 0, kTimeoutNanos));
      for (size_t rank = 0; rank < size; ++rank) {
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(recv.get<int32_t>(rank * count + i), valueOf(static_cast<int>(rank), i));
        }
      }
      ASSERT_TRUE(recv.intact());
    }
  });
}

TEST_P(CollectivesTest, ReduceScatterGivesEveryRankItsPart) {
  forAll([](Engine& communicator, size_t count, Choice choice) {
    const size_t size = communicator.size();
    for (const bool inPlace : {false, true}) {
      Guarded send = filled(communicator.rank(), size * count);
      Guarded recv(count * 4);
      uint8_t* result = inPlace ? send.data() + communicator.rank() * count * 4 : recv.data();
      expectOk(communicator,
               communicator.run({Collective::ReduceScatter, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                                reinterpret_cast<uint64_t>(result), static_cast<int64_t>(count), 0, kTimeoutNanos));
      for (size_t i = 0; i < count; ++i) {
        int32_t value;
        std::memcpy(&value, result + i * 4, 4);
        ASSERT_EQ(value, sumOf(static_cast<int>(size), communicator.rank() * count + i));
      }
      ASSERT_TRUE(recv.intact() && send.intact());
    }
  });
}

TEST_P(CollectivesTest, PartsMayDifferInSize) {
  forAll([](Engine& communicator, size_t count, Choice choice) {
    const int size = communicator.size();
    const int self = communicator.rank();
    // The part of rank 1 is empty. Between the parts there are gaps that no rank may touch.
    std::vector<int64_t> counts(2 * size);
    int64_t end = 0;
    for (int rank = 0; rank < size; ++rank) {
      counts[rank] = rank == 1 ? 0 : static_cast<int64_t>(count) * (rank + 1) / 2 + rank;
      counts[size + rank] = end + rank;
      end = counts[size + rank] + counts[rank];
    }
    Guarded own = filled(self, counts[self]);
    Guarded all(end * 4, 0, 0xEE);
    expectOk(communicator, communicator.runV({Collective::AllGather, DataType::Int32, ReduceOp::Sum}, choice,
                                             own.address(), all.address(), counts, 0, kTimeoutNanos));
    Guarded expected(end * 4, 0, 0xEE);
    for (int rank = 0; rank < size; ++rank) {
      for (int64_t i = 0; i < counts[rank]; ++i) expected.set<int32_t>(counts[size + rank] + i, valueOf(rank, i));
    }
    ASSERT_EQ(std::memcmp(all.data(), expected.data(), end * 4), 0);

    Guarded send = filled(self, end);
    Guarded part(counts[self] * 4);
    expectOk(communicator, communicator.runV({Collective::ReduceScatter, DataType::Int32, ReduceOp::Sum}, choice,
                                             send.address(), part.address(), counts, 0, kTimeoutNanos));
    for (int64_t i = 0; i < counts[self]; ++i) {
      ASSERT_EQ(part.get<int32_t>(i), sumOf(size, counts[size + self] + i));
    }
    ASSERT_TRUE(part.intact() && all.intact());

    for (int root = 0; root < size; ++root) {
      Guarded gathered(end * 4, 0, 0xEE);
      expectOk(communicator, communicator.runV({Collective::Gather, DataType::Int32, ReduceOp::Sum}, choice,
                                               own.address(), gathered.address(), counts, root, kTimeoutNanos));
      Guarded untouched(end * 4, 0, 0xEE);
      ASSERT_EQ(std::memcmp(gathered.data(), (self == root ? expected : untouched).data(), end * 4), 0);
      Guarded block(counts[self] * 4);
      expectOk(communicator,
               communicator.runV({Collective::Scatter, DataType::Int32, ReduceOp::Sum}, choice,
                                 self == root ? send.address() : 0, block.address(), counts, root, kTimeoutNanos));
      for (int64_t i = 0; i < counts[self]; ++i) {
        ASSERT_EQ(block.get<int32_t>(i), valueOf(root, counts[size + self] + i));
      }
      ASSERT_TRUE(gathered.intact() && block.intact());
    }
  });
}

TEST_P(CollectivesTest, ExchangesMoveTheDataOfEveryPair) {
  forAll([](Engine& communicator, size_t count, Choice choice) {
    const int size = communicator.size();
    const int self = communicator.rank();
    Guarded send(size * count * 4), recv(size * count * 4);
    for (int to = 0; to < size; ++to) {
      for (size_t i = 0; i < count; ++i) send.set<int32_t>(to * count + i, valueOf(self * size + to, i));
    }
    expectOk(communicator,
             communicator.run({Collective::AllToAll, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                              recv.address(), static_cast<int64_t>(count), 0, kTimeoutNanos));
    for (int from = 0; from < size; ++from) {
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(recv.get<int32_t>(from * count + i), valueOf(from * size + self, i));
      }
    }
    for (int root = 0; root < size; ++root) {
      Guarded gathered(size * count * 4);
      expectOk(communicator,
               communicator.run({Collective::Gather, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                                gathered.address(), static_cast<int64_t>(count), root, kTimeoutNanos));
      for (int from = 0; from < size && self == root; ++from) {
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(gathered.get<int32_t>(from * count + i), valueOf(from * size, i));
        }
      }
      Guarded scattered(count * 4);
      expectOk(communicator,
               communicator.run({Collective::Scatter, DataType::Int32, ReduceOp::Sum}, choice, send.address(),
                                scattered.address(), static_cast<int64_t>(count), root, kTimeoutNanos));
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(scattered.get<int32_t>(i), valueOf(root * size + self, i));
    }
    expectOk(communicator,
             communicator.run({Collective::Barrier, DataType::Int8, ReduceOp::Sum}, choice, 0, 0, 0, 0, kTimeoutNanos));
  });
}

TEST(CollectivesInPlace, BuffersThatAllRanksReachAreUsedInPlace) {
  constexpr size_t kCount = 500;
  for (const int size : {2, 3}) {
    RankThreads threads(size);
    threads.run([&](Engine& communicator) {
      const Choice choice = choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kTryZeroCopy);
      const std::vector<int64_t> counts(4 * static_cast<size_t>(size), 0);
      for (const Collective collective :
           {Collective::AllReduce, Collective::Reduce, Collective::Broadcast, Collective::AllGather,
            Collective::ReduceScatter, Collective::AllToAll, Collective::Gather, Collective::Scatter}) {
        Guarded send(size * kCount * 4), recv(size * kCount * 4);
        const OperationCode code{collective, DataType::Int32, ReduceOp::Sum};
        ASSERT_EQ(communicator.run(code, choice, send.address(), recv.address(), kCount, size - 1, kTimeoutNanos),
                  Code::Ok);
        EXPECT_NE(communicator.lastChoice().flags & Choice::kZeroCopyUsed, 0) << nameOf(collective);
        EXPECT_EQ(communicator.lastChoice().protocol, Protocol::Simple);
        if (collective != Collective::AllToAll) continue;
        ASSERT_EQ(communicator.runV(code, choice, send.address(), recv.address(), counts, 0, kTimeoutNanos), Code::Ok);
        EXPECT_EQ(communicator.lastChoice().flags & Choice::kZeroCopyUsed, 0)
            << "not all ranks know the counts of a v-form";
      }
    });
  }
}

std::string nameOfParameter(const ::testing::TestParamInfo<Parameter>& info) {
  const auto [ranks, algorithm, protocol, channels] = info.param;
  return std::string(nameOf(algorithm)) + "_" + nameOf(protocol) + "_ranks" + std::to_string(ranks) + "_channels" +
         std::to_string(channels);
}

INSTANTIATE_TEST_SUITE_P(Matrix, CollectivesTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 8),
                                            ::testing::Values(Algorithm::Ring, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(1, 2)),
                         nameOfParameter);

TEST(PointToPoint, ManyMessagesInBothDirectionsKeepTheirOrder) {
  RankThreads threads(4);
  threads.run([](Engine& communicator) {
    const int size = communicator.size();
    const int self = communicator.rank();
    constexpr size_t kMessages = 20;
    constexpr size_t kStep = 1777;
    std::vector<Guarded> sends, recvs;
    std::vector<PointToPointTask> tasks;
    sends.reserve(size * kMessages);
    recvs.reserve(size * kMessages);
    for (int peer = 0; peer < size; ++peer) {
      for (size_t m = 0; m < kMessages; ++m) {
        const size_t bytes = m * kStep;
        sends.emplace_back(bytes, 0, static_cast<uint8_t>(self * 50 + m));
        recvs.emplace_back(bytes);
        const uint32_t fingerprint = messageFingerprint(DataType::Int8, bytes);
        tasks.push_back({PointToPointTask::Kind::Send, peer, sends.back().data(), bytes, fingerprint});
        tasks.push_back({PointToPointTask::Kind::Recv, peer, recvs.back().data(), bytes, fingerprint});
      }
    }
    ASSERT_EQ(communicator.runPointToPoint(tasks, kTimeoutNanos), Code::Ok) << communicator.lastError();
    for (int peer = 0; peer < size; ++peer) {
      for (size_t m = 0; m < kMessages; ++m) {
        Guarded& buffer = recvs[peer * kMessages + m];
        for (size_t i = 0; i < m * kStep; ++i) ASSERT_EQ(buffer.data()[i], static_cast<uint8_t>(peer * 50 + m));
        ASSERT_TRUE(buffer.intact());
      }
    }
  });
}

// Messages of LL, LL128 and SIMPLE are numbered together, as steps of one connection.
TEST(PointToPoint, SmallAndLargeMessagesMayAlternate) {
  RankThreads threads(3);
  threads.run([](Engine& communicator) {
    const int size = communicator.size();
    const int next = (communicator.rank() + 1) % size, before = (communicator.rank() + size - 1) % size;
    // the most that an LL128 slot of 1024 bytes holds
    const size_t most = 1024 / kLL128LineBytes * kLL128PayloadBytes - kLL128HeaderBytes;
    for (const size_t bytes :
         {size_t{8}, size_t{0}, size_t{1}, size_t{2000}, size_t{3}, most, size_t{24}, size_t{25}, size_t{70000},
          most - 1, most + 1, size_t{5}, size_t{112}, size_t{4}, size_t{113}, size_t{1} << 20, size_t{12}}) {
      for (int round = 0; round < 30; ++round) {
        const auto valueOf = [&](int rank, size_t i) { return static_cast<uint8_t>(rank * 31 + i * 7 + round); };
        Guarded send(bytes), recv(bytes, 0, 0xEE);
        for (size_t i = 0; i < bytes; ++i) send.data()[i] = valueOf(communicator.rank(), i);
        const PointToPointTask tasks[] = {{PointToPointTask::Kind::Send, next, send.data(), bytes, 9},
                                          {PointToPointTask::Kind::Recv, before, recv.data(), bytes, 9}};
        ASSERT_EQ(communicator.runPointToPoint(tasks, kTimeoutNanos), Code::Ok) << communicator.lastError();
        const Protocol expected = bytes <= 24 ? Protocol::LL : bytes <= most ? Protocol::LL128 : Protocol::Simple;
        EXPECT_EQ(communicator.lastChoice().protocol, expected) << "bytes=" << bytes;
        for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(recv.data()[i], valueOf(before, i)) << "bytes=" << bytes;
        ASSERT_TRUE(recv.intact());
      }
    }
  });
}

// Both ranks have used up their credit, so each can send only after the other has received.
TEST(PointToPoint, ASendThatFindsNoCreditDoesNotKeepItsReceiveWaiting) {
  RankThreads threads(2);
  threads.run([](Engine& communicator) {
    const int peer = 1 - communicator.rank();
    constexpr int kMessages = 3 * static_cast<int>(kSlots);
    for (int i = 0; i < static_cast<int>(kSlots); ++i) {
      int value = i;
      const PointToPointTask ahead{PointToPointTask::Kind::Send, peer, reinterpret_cast<uint8_t*>(&value), 4, 7};
      ASSERT_EQ(communicator.runPointToPoint({&ahead, 1}, kTimeoutNanos), Code::Ok);
    }
    for (int i = 0; i < kMessages; ++i) {
      int value = i + static_cast<int>(kSlots), received = -1;
      const PointToPointTask both[] = {
          {PointToPointTask::Kind::Send, peer, reinterpret_cast<uint8_t*>(&value), 4, 7},
          {PointToPointTask::Kind::Recv, peer, reinterpret_cast<uint8_t*>(&received), 4, 7}};
      ASSERT_EQ(communicator.runPointToPoint(both, kTimeoutNanos), Code::Ok) << communicator.lastError();
      ASSERT_EQ(received, i);
    }
  });
}

// With these sizes, the two ends expect different protocols.
TEST(PointToPoint, AMessageOfAnotherSizeIsAMismatch) {
  constexpr size_t kSizes[] = {8, 64, 8192};
  for (const size_t sent : kSizes) {
    for (const size_t expected : kSizes) {
      if (sent == expected) continue;
      RankThreads threads(2);
      threads.run([&](Engine& communicator) {
        Guarded buffer(8192);
        const bool sends = communicator.rank() == 0;
        const PointToPointTask task{sends ? PointToPointTask::Kind::Send : PointToPointTask::Kind::Recv,
                                    1 - communicator.rank(), buffer.data(), sends ? sent : expected, 7};
        EXPECT_EQ(communicator.runPointToPoint({&task, 1}, kTimeoutNanos), sends ? Code::Ok : Code::Mismatch);
      });
    }
  }
}

TEST(PointToPoint, AllToAllMayHaveAnyCounts) {
  RankThreads threads(3);
  threads.run([](Engine& communicator) {
    const int size = communicator.size();
    const int self = communicator.rank();
    std::vector<int64_t> counts(4 * size);
    int64_t sendEnd = 0, recvEnd = 0;
    for (int peer = 0; peer < size; ++peer) {
      counts[peer] = 100 * self + 10 * peer;
      counts[size + peer] = sendEnd;
      sendEnd += counts[peer] + 1;
      counts[2 * size + peer] = 100 * peer + 10 * self;
      counts[3 * size + peer] = recvEnd;
      recvEnd += counts[2 * size + peer] + 1;
    }
    Guarded send(sendEnd * 8), recv(recvEnd * 8);
    for (int peer = 0; peer < size; ++peer) {
      for (int64_t i = 0; i < counts[peer]; ++i)
        send.set<int64_t>(counts[size + peer] + i, self * 1000000 + peer * 10000 + i);
    }
    ASSERT_EQ(communicator.runV({Collective::AllToAll, DataType::Int64, ReduceOp::Sum},
                                choiceOf(Algorithm::Ring, Protocol::Simple), send.address(), recv.address(), counts, 0,
                                kTimeoutNanos),
              Code::Ok);
    for (int peer = 0; peer < size; ++peer) {
      for (int64_t i = 0; i < counts[2 * size + peer]; ++i) {
        ASSERT_EQ(recv.get<int64_t>(counts[3 * size + peer] + i), peer * 1000000 + self * 10000 + i);
      }
    }
  });
}

TEST(PointToPoint, RefusesUnpairedMessagesOfARankToItself) {
  RankThreads threads(1);
  uint8_t data[4] = {};
  const PointToPointTask toItself[] = {{PointToPointTask::Kind::Send, 0, data, 4, 1}};
  EXPECT_EQ(threads[0].runPointToPoint(toItself, kTimeoutNanos), Code::Invalid);
  EXPECT_NE(threads[0].lastError().find("sendsToSelf=1 recvsFromSelf=0"), std::string::npos) << threads[0].lastError();
  const PointToPointTask fromNobody[] = {{PointToPointTask::Kind::Recv, 3, data, 4, 1}};
  EXPECT_EQ(threads[0].runPointToPoint(fromNobody, kTimeoutNanos), Code::Invalid);
  EXPECT_EQ(threads[0].failure(), Code::Ok);
}

}  // namespace
}  // namespace jccl::test::collectives_test
