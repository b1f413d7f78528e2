// Tests of messages that receivers read out of the symmetric windows of senders.
#include <cstring>
#include <thread>

#include "cuda/test/left_memory.h"
#include "cuda/test/window_ranks.h"
#include "engine/operation.h"

namespace jccl::test::window_reads_test {
namespace {

using device::Issued;

constexpr OperationCode kToAll{Collective::AllToAll, DataType::Int8, ReduceOp::Sum};
// The smallest message that receivers read. All slots of the two channels together can hold it.
constexpr size_t kRead = 64 * 1024;
const Choice kReads = choiceOf(Algorithm::Direct, Protocol::Simple, 2, 0, Choice::kTryZeroCopy);

uint8_t valueOf(int from, int to, size_t i) {
  return static_cast<uint8_t>(from * 53 + to * 17 + static_cast<int>(i % 251));
}
void fill(uint8_t* to, size_t bytes, int rank, int peer) {
  for (size_t i = 0; i < bytes; ++i) to[i] = valueOf(rank, peer, i);
}
bool isFilled(const uint8_t* from, size_t bytes, int rank, int peer) {
  for (size_t i = 0; i < bytes; ++i) {
    if (from[i] != valueOf(rank, peer, i)) return false;
  }
  return true;
}

PointToPointTask send(int peer, uint8_t* data, size_t bytes) {
  return {PointToPointTask::Kind::Send, peer, data, bytes, messageFingerprint(DataType::Int8, bytes)};
}
PointToPointTask recv(int peer, uint8_t* data, size_t bytes) {
  return {PointToPointTask::Kind::Recv, peer, data, bytes, messageFingerprint(DataType::Int8, bytes)};
}

class WindowReads : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1); }
  void TearDown() override {
    ::unsetenv("JCCL_EMULATED_SHARING");
    expectNothingLeft();
  }

  static uint8_t* window(Windows& windows, int rank, size_t offset = 0) {
    return reinterpret_cast<uint8_t*>(windows.window(rank, offset));
  }
  static Issued issue(Windows& windows, int rank, std::vector<PointToPointTask> tasks,
                      int64_t timeoutNanos = kRuntimeLimitNanos) {
    return windows.at(rank).runPointToPoint(kReads, std::move(tasks), timeoutNanos, windows.at(rank).ownStream());
  }
};

// Each rank sends messages of several sizes to every other rank. Some ranks send from windows, others do not.
TEST_F(WindowReads, MoveMessagesFromWindowsAndFromOtherMemory) {
  constexpr size_t kSizes[] = {100, kRead, kRead + 1003};
  constexpr size_t kTotal = 100 + 2 * kRead + 1003;
  for (const bool processes : {false, true}) {
    for (const int size : {2, 3, 5}) {
      Windows windows(size, processes);
      for (int round = 0; round < 3; ++round) {
        SCOPED_TRACE(std::string(processes ? "processes" : "threads") + " size=" + std::to_string(size) +
                     " round=" + std::to_string(round));
        std::vector<std::vector<uint8_t>> outside(size, std::vector<uint8_t>(size * kTotal)), recvs = outside;
        std::vector<Issued> issued;
        for (int rank = 0; rank < size; ++rank) {
          uint8_t* from = (rank + round) % 3 == 0 ? outside[rank].data() : window(windows, rank, 64 * round + 1);
          uint8_t* to = recvs[rank].data();
          std::vector<PointToPointTask> tasks;
          for (int peer = 0; peer < size; ++peer) {
            for (const size_t bytes : kSizes) {
              fill(from, bytes, rank, peer);
              tasks.push_back(send(peer, from, bytes));
              tasks.push_back(recv(peer, to, bytes));
              from += bytes;
              to += bytes;
            }
          }
          issued.push_back(issue(windows, rank, tasks));
        }
        for (int rank = 0; rank < size; ++rank) {
          ASSERT_EQ(windows.ranks().await(rank, issued[rank]), Code::Ok) << windows.at(rank).lastError();
          const uint8_t* at = recvs[rank].data();
          for (int peer = 0; peer < size; ++peer) {
            for (const size_t bytes : kSizes) {
              ASSERT_TRUE(isFilled(at, bytes, peer, rank)) << "rank=" << rank << " peer=" << peer << " bytes=" << bytes;
              at += bytes;
            }
          }
        }
      }
    }
  }
}

// The last rank uses another place or other memory, or all ranks use the same place.
TEST_F(WindowReads, ExchangeBetweenAllRanks) {
  enum class Places { Equal, AnotherOffset, OtherMemory };
  for (const bool processes : {false, true}) {
    for (const int size : {2, 4, 8}) {
      Windows windows(size, processes);
      for (const Places places : {Places::Equal, Places::AnotherOffset, Places::OtherMemory}) {
        SCOPED_TRACE(std::string(processes ? "processes" : "threads") + " size=" + std::to_string(size) +
                     " places=" + std::to_string(static_cast<int>(places)));
        std::vector<std::vector<uint8_t>> outside(size, std::vector<uint8_t>(size * kRead)), recvs = outside;
        std::vector<Issued> issued;
        for (int rank = 0; rank < size; ++rank) {
          const bool last = rank == size - 1;
          uint8_t* from = last && places == Places::OtherMemory
                              ? outside[rank].data()
                              : window(windows, rank, last && places == Places::AnotherOffset ? 4096 : 0);
          for (int peer = 0; peer < size; ++peer) fill(from + peer * kRead, kRead, rank, peer);
          issued.push_back(windows.issue(rank, kToAll, reinterpret_cast<float*>(from),
                                         reinterpret_cast<float*>(recvs[rank].data()), kRead, Choice::kTryZeroCopy));
        }
        for (int rank = 0; rank < size; ++rank) {
          ASSERT_EQ(windows.ranks().await(rank, issued[rank]), Code::Ok) << windows.at(rank).lastError();
          for (int peer = 0; peer < size; ++peer) {
            ASSERT_TRUE(isFilled(recvs[rank].data() + peer * kRead, kRead, peer, rank)) << "rank=" << rank;
          }
        }
      }
    }
  }
}

// Through slots, a message that fits into them needs no receiver. One in a window does: the sender may change its memory
// only when the receiver has read it.
TEST_F(WindowReads, ASendFromAWindowEndsWhenItsReceiverHasRead) {
  for (const bool processes : {false, true}) {
    Windows windows(2, processes);
    std::vector<uint8_t> outside(kRead), to(kRead);
    for (const bool inWindow : {false, true}) {
      uint8_t* const from = inWindow ? window(windows, 0) : outside.data();
      fill(from, kRead, 0, 1);
      const Issued sent = issue(windows, 0, {send(1, from, kRead)});
      ASSERT_EQ(sent.code, Code::Ok);
      if (inWindow) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        bool done = true;
        EXPECT_EQ(windows.at(0).query(sent.number, done), Code::Ok);
        EXPECT_FALSE(done);
      } else {
        EXPECT_EQ(windows.ranks().await(0, sent), Code::Ok);
        std::memset(from, 0xee, kRead);
      }
      const Issued received = issue(windows, 1, {recv(0, to.data(), kRead)});
      EXPECT_EQ(windows.ranks().await(0, sent), Code::Ok) << windows.at(0).lastError();
      std::memset(from, 0xee, kRead);
      EXPECT_EQ(windows.ranks().await(1, received), Code::Ok) << windows.at(1).lastError();
      EXPECT_TRUE(isFilled(to.data(), kRead, 0, 1));
    }
  }
}

TEST_F(WindowReads, AreCapturedAndReplayed) {
  for (const bool processes : {false, true}) {
    Windows windows(2, processes);
    std::vector<std::vector<uint8_t>> to(2, std::vector<uint8_t>(kRead));
    std::vector<device::Graph> graphs;
    for (int rank = 0; rank < 2; ++rank) {
      const device::Stream stream = windows.at(rank).ownStream();
      windows.application(rank).beginCapture(stream);
      const Issued captured =
          issue(windows, rank, {send(1 - rank, window(windows, rank), kRead), recv(1 - rank, to[rank].data(), kRead)});
      EXPECT_EQ(captured.code, Code::Ok) << windows.at(rank).lastError();
      graphs.push_back(windows.application(rank).endCapture(stream));
    }
    for (int replay = 0; replay < 3; ++replay) {
      for (int rank = 0; rank < 2; ++rank) fill(window(windows, rank), kRead, rank, replay);
      for (int rank = 0; rank < 2; ++rank) {
        windows.application(rank).replay(graphs[rank], windows.at(rank).ownStream());
      }
      for (int rank = 0; rank < 2; ++rank) {
        windows.application(rank).synchronize(windows.at(rank).ownStream());
        ASSERT_EQ(windows.at(rank).failure(), Code::Ok) << windows.at(rank).lastError();
      }
      for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(isFilled(to[rank].data(), kRead, 1 - rank, replay));
    }
    for (int rank = 0; rank < 2; ++rank) windows.application(rank).destroyGraph(graphs[rank]);
  }
}

TEST_F(WindowReads, EndIfTheReceiverNeverComes) {
  for (const bool processes : {false, true}) {
    for (const bool aborts : {false, true}) {
      Windows windows(2, processes);
      const Issued sent =
          issue(windows, 0, {send(1, window(windows, 0), kRead)}, aborts ? kRuntimeLimitNanos : 30'000'000);
      if (aborts) windows.at(0).abort(Code::Aborted);
      EXPECT_EQ(windows.ranks().await(0, sent), aborts ? Code::Aborted : Code::Timeout);
    }
  }
}

// A sender whose operation has failed gets its memory back only when no receiver reads it any more.
TEST_F(WindowReads, AReceiverThatReadsHoldsUpTheEndOfAFailedSend) {
  Windows windows(3, false);
  std::vector<uint8_t> to(kRead);
  // Rank 0 waits for rank 2, which never comes; rank 1 reads meanwhile.
  const Issued sent =
      issue(windows, 0, {send(1, window(windows, 0), kRead), send(2, window(windows, 0), kRead)}, 30'000'000);
  const Issued received = issue(windows, 1, {recv(0, to.data(), kRead), recv(2, to.data(), 0)});
  EXPECT_EQ(windows.ranks().await(0, sent), Code::Timeout);
  bool done = false;
  EXPECT_NE(windows.at(1).query(received.number, done), Code::Ok);
  EXPECT_TRUE(done);
}

// The receiver expects another number of bytes, which its first look at the slot tells.
TEST_F(WindowReads, FindThatTheSizesDiffer) {
  for (const bool processes : {false, true}) {
    Windows windows(2, processes);
    std::vector<uint8_t> to(2 * kRead);
    for (const size_t expected : {2 * kRead}) {
      PointToPointTask out = send(1, window(windows, 0), kRead);
      PointToPointTask in = recv(0, to.data(), expected);
      in.fingerprint = out.fingerprint;
      const Issued sent = issue(windows, 0, {out});
      const Issued received = issue(windows, 1, {in});
      EXPECT_EQ(windows.ranks().await(1, received), Code::Mismatch);
      EXPECT_NE(windows.ranks().await(0, sent), Code::Ok);
    }
  }
}

}  // namespace
}  // namespace jccl::test::window_reads_test
