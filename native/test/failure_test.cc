// Tests of failures: ranks that disagree, are late or abort.
#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "primitives/codecs.h"
#include "test/rank_threads.h"

namespace jccl::test::failure_test {
namespace {

constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

Code allReduce(Engine& communicator, Guarded& buffer, size_t count, Choice choice, int64_t timeoutNanos) {
  return communicator.run(kSum, choice, buffer.address(), buffer.address(), static_cast<int64_t>(count), 0,
                          timeoutNanos);
}

class FailureTest : public ::testing::TestWithParam<std::tuple<Algorithm, Protocol>> {
 protected:
  static Choice choice() { return choiceOf(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(FailureTest, ATimeoutNamesThePeerAndIsPermanent) {
  RankThreads threads(3);
  threads.run([](Engine& communicator) {
    if (communicator.rank() == 2) return;  // rank 2 never calls allReduce
    Guarded buffer(4000);
    const int64_t start = monotonicNanos();
    ASSERT_EQ(allReduce(communicator, buffer, 1000, choice(), 200'000'000), Code::Timeout);
    EXPECT_GE(monotonicNanos() - start, 200'000'000);
    EXPECT_EQ(allReduce(communicator, buffer, 1000, choice(), kTimeoutNanos), Code::Timeout);
    const std::string error = communicator.lastError();
    EXPECT_NE(error.find("timeoutMillis=200"), std::string::npos) << error;
    EXPECT_NE(error.find("collective=all_reduce"), std::string::npos) << error;
    EXPECT_NE(error.find("waitsFor="), std::string::npos) << error;
    ASSERT_EQ(communicator.waiting().size(), 1u);
    HistoryRow row;
    ASSERT_TRUE(communicator.history().read(1, row));
    EXPECT_EQ(row.state, OperationState::Failed);
  });
  // At least one rank must wait for rank 2, which never calls allReduce.
  bool named = false;
  for (int rank = 0; rank < 2; ++rank) named = named || threads[rank].waiting().at(0).place.peer == 2;
  EXPECT_TRUE(named);
}

TEST_P(FailureTest, AnAbortEndsAWaitAtOnce) {
  RankThreads threads(2);
  std::atomic<bool> done{false};
  std::thread waiter([&] {
    Guarded buffer(4000);
    EXPECT_EQ(allReduce(threads[0], buffer, 1000, choice(), kTimeoutNanos), Code::Aborted);
    done = true;
  });
  // waiting() lists rank 0 only after rank 0 has waited for a while
  while (threads[0].waiting().empty()) std::this_thread::yield();
  const ChannelWait wait = threads[0].waiting().at(0);
  EXPECT_EQ(wait.place.peer, 1);
  EXPECT_EQ(wait.sequence, 1u);
  const int64_t start = monotonicNanos();
  threads[0].abort(Code::Aborted);
  waiter.join();
  EXPECT_LT(monotonicNanos() - start, 2'000'000'000);
  EXPECT_EQ(threads[0].failure(), Code::Aborted);
}

TEST_P(FailureTest, AnotherCountIsAMismatch) {
  RankThreads threads(2);
  std::atomic<int> mismatches{0};
  threads.run([&](Engine& communicator) {
    Guarded buffer(4000);
    const size_t count = communicator.rank() == 0 ? 100 : 99;
    const Code code = allReduce(communicator, buffer, count, choice(), 2'000'000'000);
    EXPECT_NE(code, Code::Ok);
    if (code == Code::Mismatch) ++mismatches;
    EXPECT_TRUE(buffer.intact());
  });
  EXPECT_GE(mismatches.load(), 1);
}

INSTANTIATE_TEST_SUITE_P(Matrix, FailureTest,
                         ::testing::Combine(::testing::Values(Algorithm::Ring, Algorithm::Tree, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple)),
                         [](const auto& info) {
                           return std::string(nameOf(std::get<0>(info.param))) + "_" + nameOf(std::get<1>(info.param));
                         });

TEST(Mismatch, IsFoundInZeroCopyAndInMessages) {
  RankThreads threads(2);
  std::atomic<int> mismatches{0};
  threads.run([&](Engine& communicator) {
    Guarded buffer(4000);
    const Choice choice = choiceOf(Algorithm::Ring, Protocol::Simple, 1, 0, Choice::kTryZeroCopy);
    if (allReduce(communicator, buffer, 100 + communicator.rank(), choice, 2'000'000'000) == Code::Mismatch) {
      ++mismatches;
    }
  });
  EXPECT_EQ(mismatches.load(), 2);

  RankThreads others(2);
  others.run([&](Engine& communicator) {
    Guarded buffer(400);
    const size_t bytes = 100;
    const bool sends = communicator.rank() == 0;
    // Both ranks name the same number of bytes, but different types.
    const uint32_t fingerprint =
        sends ? messageFingerprint(DataType::Int8, 100) : messageFingerprint(DataType::Int32, 25);
    const auto kind = sends ? PointToPointTask::Kind::Send : PointToPointTask::Kind::Recv;
    const PointToPointTask task{kind, 1 - communicator.rank(), buffer.data(), bytes, fingerprint};
    const Code code = communicator.runPointToPoint({&task, 1}, kTimeoutNanos);
    EXPECT_EQ(code, sends ? Code::Ok : Code::Mismatch);
  });
}

TEST(History, KeepsTheLastOperations) {
  RankThreads threads(2);
  const uint64_t operations = threads[0].history().size() + 44;
  threads.run([operations](Engine& communicator) {
    for (uint64_t i = 0; i < operations; ++i) {
      Guarded buffer(400);
      ASSERT_EQ(allReduce(communicator, buffer, i % 100, choiceOf(Algorithm::Direct, Protocol::LL), kTimeoutNanos),
                Code::Ok);
    }
  });
  for (int rank = 0; rank < 2; ++rank) {
    const History& history = threads[rank].history();
    EXPECT_EQ(history.lastEntered(), operations);
    EXPECT_EQ(history.lastDone(), operations);
    HistoryRow row;
    EXPECT_FALSE(history.read(1, row)) << "overwritten";
    EXPECT_FALSE(history.read(44, row)) << "overwritten";
    EXPECT_FALSE(history.read(operations + 1, row)) << "not yet";
    ASSERT_TRUE(history.read(251, row));
    EXPECT_EQ(row.count, 50u);
    EXPECT_EQ(row.state, OperationState::Done);
    EXPECT_EQ(OperationCode::decode(row.code).collective, Collective::AllReduce);
  }
  HistoryRow a, b;
  ASSERT_TRUE(threads[0].history().read(operations, a) && threads[1].history().read(operations, b));
  EXPECT_EQ(a.fingerprint, b.fingerprint);
}

// Each rank is late in every other operation. The rank that waits must record the rank for which it waited.
TEST(History, SaysWhenOperationsBeganAndForWhomTheyWaited) {
  constexpr int kOperations = 6;
  const int64_t before = monotonicNanos();
  RankThreads threads(2);
  threads.run([&threads](Engine& communicator) {
    for (int i = 0; i < kOperations; ++i) {
      if (i % 2 == communicator.rank()) {  // this rank is late: the other one waits already
        while (threads[1 - communicator.rank()].waiting().empty()) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      Guarded buffer(400);
      ASSERT_EQ(allReduce(communicator, buffer, 8, choiceOf(Algorithm::Direct, Protocol::LL), kTimeoutNanos), Code::Ok);
    }
  });
  const int64_t after = monotonicNanos();
  for (int rank = 0; rank < 2; ++rank) {
    int64_t last = before - 1000;
    for (uint64_t sequence = 1; sequence <= kOperations; ++sequence) {
      HistoryRow row;
      ASSERT_TRUE(threads[rank].history().read(sequence, row));
      EXPECT_GE(row.begun, last) << "sequence=" << sequence;
      EXPECT_GE(row.ended, row.begun) << "sequence=" << sequence;
      last = row.ended - 1000;  // 1 us of tolerance: converting times has a different error in each row
      EXPECT_EQ(Choice::decode(row.choice).algorithm, Algorithm::Direct);
      const bool waits = (sequence - 1) % 2 != static_cast<uint64_t>(rank);
      if (!waits) continue;
      EXPECT_GE(row.ended - row.begun, 15'000'000) << "sequence=" << sequence;
      EXPECT_GE(row.waitedNanos, 15'000'000) << "sequence=" << sequence;
      EXPECT_LE(row.waitedNanos, row.ended - row.begun + 1000) << "sequence=" << sequence;
      EXPECT_EQ(row.waitedFor, 1 - rank);
    }
    EXPECT_LE(last, after + 1000);
  }
}

TEST(History, OfOneRankTimesLargeOperationsOnly) {
  History history(256, true);
  Operation small, large;
  small.sequence = 1;
  large.sequence = 2;
  large.bytes = 1 << 20;
  setTick();
  const int64_t before = monotonicNanos();
  history.begin(small);
  EXPECT_EQ(history.end(small, true), 0);
  history.begin(large);
  EXPECT_GT(history.end(large, true), 0);
  HistoryRow row;
  ASSERT_TRUE(history.read(1, row));
  EXPECT_GT(row.begun, 0);
  EXPECT_LE(row.begun, before);
  EXPECT_EQ(row.ended, 0);
  ASSERT_TRUE(history.read(2, row));
  EXPECT_GE(row.begun, before);
  EXPECT_GE(row.ended, row.begun);
}

TEST(History, HasBytesInsteadOfACountIfEachRankHasItsOwnCount) {
  History history;
  Operation operation;
  operation.code = kSum;
  operation.count = 7;
  operation.bytes = 28;
  HistoryRow row;
  const auto record = [&] {
    ++operation.sequence;
    history.begin(operation);
    ASSERT_TRUE(history.read(operation.sequence, row));
  };
  record();
  EXPECT_EQ(row.count, 7u);
  EXPECT_EQ(row.bytes, 0u);
  operation.count = 0;
  record();
  EXPECT_EQ(row.count, 0u);
  EXPECT_EQ(row.bytes, 28u);
  operation.code.collective = Collective::AllToAll;
  operation.moved = 64;
  record();
  EXPECT_EQ(row.count, 0u);
  EXPECT_EQ(row.bytes, 64u);
}

TEST(History, HasNoTimesIfNothingIsRecorded) {
  History history(0);
  EXPECT_EQ(history.size(), History::kMinRecords);
  Operation operation;
  operation.sequence = 1;
  history.begin(operation);
  history.end(operation, true);
  HistoryRow row;
  ASSERT_TRUE(history.read(1, row));
  EXPECT_EQ(row.begun, 0);
  EXPECT_EQ(row.ended, 0);
}

TEST(TransferHistory, HasSendsAndReceivesOfARank) {
  TransferHistory history(300, false);
  const uint64_t groups = 512 + 10;
  for (uint64_t i = 1; i <= groups; ++i) {
    const PointToPointTask tasks[] = {{PointToPointTask::Kind::Send, 3, nullptr, i, 0},
                                      {PointToPointTask::Kind::Send, 4, nullptr, 10, 0},
                                      {PointToPointTask::Kind::Recv, 2, nullptr, 7, 0}};
    EXPECT_EQ(history.begin(17, tasks), i);
    LongWaits waits;
    if (i % 2 == 0) waits.add(1, 5'000, 2);
    if (i != groups && i != 1) history.end(i, true, waits);
  }
  EXPECT_EQ(history.end(1, true), 0) << "overwritten";
  TransferRow row;
  EXPECT_EQ(history.last(), groups);
  EXPECT_FALSE(history.read(10, row)) << "overwritten";
  ASSERT_TRUE(history.read(1 + 512, row));
  EXPECT_EQ(row.waitedFor, -1) << "expected nothing of the row that it replaced";
  EXPECT_FALSE(history.read(groups + 1, row)) << "not yet";
  ASSERT_TRUE(history.read(groups, row));
  EXPECT_EQ(row.state, OperationState::Running);
  EXPECT_EQ(row.ended, 0);
  EXPECT_EQ(row.waitedFor, -1);
  ASSERT_TRUE(history.read(groups - 2, row));
  EXPECT_EQ(row.state, OperationState::Done);
  EXPECT_EQ(row.after, 17u);
  EXPECT_EQ(row.sends, 2);
  EXPECT_EQ(row.to, 3);
  EXPECT_EQ(row.sentBytes, groups - 2 + 10);
  EXPECT_EQ(row.receives, 1);
  EXPECT_EQ(row.from, 2);
  EXPECT_EQ(row.receivedBytes, 7u);
  EXPECT_GE(row.ended, row.begun);
  EXPECT_EQ(row.waitedNanos, 5'000);
  EXPECT_EQ(row.waitedFor, 2);
}

TEST(Refusals, LeaveTheCommunicatorUsable) {
  RankThreads threads(1);
  Guarded buffer(64);
  const Choice choice = choiceOf(Algorithm::Ring, Protocol::Simple);
  EXPECT_EQ(threads[0].run(kSum, choice, buffer.address(), buffer.address(), -1, 0, 0), Code::Invalid);
  EXPECT_NE(threads[0].lastError().find("count=-1"), std::string::npos);
  EXPECT_EQ(threads[0].run(OperationCode::decode(0xffffff), choice, 0, 0, 0, 0, 0), Code::Invalid);
  EXPECT_EQ(threads[0].runV(kSum, choice, 0, 0, {1, 2}, 0, 0), Code::Invalid);
  EXPECT_FALSE(threads[0].setRing(0, {1}).isOk());
  EXPECT_FALSE(threads[0].setTree(0, 0, {}).isOk());
  EXPECT_FALSE(threads[0].connectLocal(0, TransportKind::P2p, buffer.data()).isOk());
  EXPECT_EQ(allReduce(threads[0], buffer, 16, choice, 0), Code::Ok);
}

TEST(Segments, OfAnotherCommunicatorAreRefused) {
  RankThreads ours(2, 1, [](EngineConfig& config) { config.cores = 2; });
  RankThreads others(2, 1, [](EngineConfig& config) { config.token[1] = 12; });
  RankThreads larger(2, 1, [](EngineConfig& config) { config.llSlotBytes = 2048; });
  RankThreads oversubscribed(2, 1, [](EngineConfig& config) { config.cores = 1; });
  const Status foreign = ours[0].connectLocal(1, TransportKind::Shm, others[1].segment().base());
  EXPECT_EQ(foreign.code(), Code::Transport);
  EXPECT_NE(foreign.message().find("token"), std::string::npos) << foreign.message();
  const Status unlike = ours[0].connectLocal(1, TransportKind::Shm, larger[1].segment().base());
  EXPECT_NE(unlike.message().find("llSlotBytes=2048, expected 1024"), std::string::npos) << unlike.message();
  const Status fewerCores = ours[0].connectLocal(1, TransportKind::Shm, oversubscribed[1].segment().base());
  EXPECT_NE(fewerCores.message().find("rotates=0, expected 1"), std::string::npos) << fewerCores.message();
}

TEST(Waiting, CostsLittleProcessorTime) {
  RankThreads threads(2);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    Guarded buffer(64);
    EXPECT_EQ(allReduce(threads[1], buffer, 16, choiceOf(Algorithm::Direct, Protocol::LL), kTimeoutNanos), Code::Ok);
  });
  Guarded buffer(64);
  timespec before, after;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  EXPECT_EQ(allReduce(threads[0], buffer, 16, choiceOf(Algorithm::Direct, Protocol::LL), kTimeoutNanos), Code::Ok);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  late.join();
  const int64_t used = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  EXPECT_LT(used, 70'000'000) << "a tenth of the wait";
}

}  // namespace
}  // namespace jccl::test::failure_test
