// Tests of failures of in-place operations: no peer may touch the buffer of a rank whose operation has ended.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "engine/zero_copy.h"
#include "test/rank_threads.h"
#include "transport/shm_segment.h"

namespace jccl::test::in_place_failure_test {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMillisecond;
constexpr size_t kChunkFloats = 16 * 1024;  // number of floats in one chunk of ZeroCopy

Choice inPlace() { return choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kTryZeroCopy); }

// Resolves memory that every rank of a test has mapped at the same address. Ranks are threads or forked processes.
class SharedBuffers : public BufferResolver {
 public:
  bool locate(const void* address, size_t /*bytes*/, uint64_t& segment, uint64_t& offset) override {
    segment = 1;
    offset = reinterpret_cast<uint64_t>(address);
    return true;
  }
  uint8_t* resolve(int /*peer*/, uint64_t /*segment*/, uint64_t offset, size_t /*bytes*/) override {
    return reinterpret_cast<uint8_t*>(offset);
  }
  bool isRunning(int /*peer*/) override { return running; }
  void isolate(int /*peer*/, void* address, size_t bytes, int64_t /*waitedNanos*/) override {
    ASSERT_NE(nullptr, isolatable);
    const auto offset = static_cast<size_t>(static_cast<uint8_t*>(address) - isolatable->address());
    ASSERT_TRUE(isolatable->isolate(offset, bytes).isOk());
    ++isolations;
  }

  std::atomic<bool> running{true};
  ShmSegment* isolatable = nullptr;
  int isolations = 0;
};

// Shared memory to which a test can remove all access.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_(bytes) {
    EXPECT_TRUE(ShmSegment::create("test", bytes, ShmBacking::Auto, &segment_).isOk());
  }
  uint8_t* data() const { return segment_.address(); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data()); }
  float* floats() const { return reinterpret_cast<float*>(data()); }
  size_t bytes() const { return bytes_; }
  void takeAway() const { ASSERT_EQ(0, ::mprotect(data(), bytes_, PROT_NONE)); }
  ShmSegment& segment() { return segment_; }

 private:
  size_t bytes_;
  ShmSegment segment_;
};

using LateCase = std::tuple<TransportKind, Collective>;

class LateInPlace : public ::testing::TestWithParam<LateCase> {};

// Rank 0 times out before rank 1 begins. Access to rank 0's buffers is then removed: if rank 1 uses them, a signal ends
// this process.
void giveUpBeforeThePeerBegins(const LateCase& one) {
  constexpr size_t kCount = 100'000;  // number of elements of each rank
  SharedBuffers buffers;
  const auto [transport, collective] = one;
  RankThreads ranks(2, 1, {}, transport);
  for (int rank = 0; rank < 2; ++rank) ranks[rank].setBufferResolver(&buffers);
  const OperationCode code{collective, DataType::Float32, ReduceOp::Sum};
  const Pages send(2 * kCount * sizeof(float)), recv(send.bytes());
  const Pages lateSend(send.bytes()), lateRecv(send.bytes());
  const Code timedOut = ranks[0].run(code, inPlace(), send.address(), recv.address(), kCount, 0, 50 * kMillisecond);
  if (timedOut != Code::Timeout) ::_exit(2);
  send.takeAway();
  recv.takeAway();
  const Code late =
      ranks[1].run(code, inPlace(), lateSend.address(), lateRecv.address(), kCount, 0, 200 * kMillisecond);
  ::_exit(late == Code::Timeout ? 0 : 3);
}

TEST_P(LateInPlace, NoPeerTouchesTheBuffersOfAFailedOperation) {
  EXPECT_EXIT(giveUpBeforeThePeerBegins(GetParam()), ::testing::ExitedWithCode(0), "");
}

std::string nameOfCase(const ::testing::TestParamInfo<LateCase>& info) {
  const auto [transport, collective] = info.param;
  return std::string(nameOf(collective)) + (transport == TransportKind::P2p ? "_of_threads" : "_over_shm");
}

INSTANTIATE_TEST_SUITE_P(Cases, LateInPlace,
                         ::testing::Combine(::testing::Values(TransportKind::P2p, TransportKind::Shm),
                                            ::testing::Values(Collective::AllReduce, Collective::Reduce,
                                                              Collective::Broadcast, Collective::AllGather,
                                                              Collective::ReduceScatter, Collective::AllToAll,
                                                              Collective::Gather, Collective::Scatter)),
                         nameOfCase);

// Aborts an operation at various moments. Its buffer belongs to the application again as soon as the operation has
// ended.
TEST(InPlaceFailure, AnAbortedOperationHasNoLateStores) {
  constexpr size_t kCount = 1'000'000;
  constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
  for (int round = 0; round < 60; ++round) {
    RankThreads ranks(2);
    std::vector<float> ours(kCount, 1.0f), theirs(kCount, 1.0f);
    std::atomic<bool> begun{false};
    // Both ranks repeat the operation until one fails, so that the abort hits a running operation even if the aborter
    // starts late.
    const auto repeat = [&](int rank, std::vector<float>& buffer) {
      const auto address = reinterpret_cast<uint64_t>(buffer.data());
      Code code = Code::Ok;
      while (code == Code::Ok) code = ranks[rank].run(kSum, inPlace(), address, address, kCount, 0, kTimeoutNanos);
      return code;
    };
    std::thread peer([&] {
      begun = true;
      repeat(1, theirs);
    });
    std::thread aborter([&] {
      while (!begun) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(20 * round));
      ranks[0].abort(Code::Aborted);
    });
    const Code code = repeat(0, ours);
    std::fill(ours.begin(), ours.end(), 7.0f);
    aborter.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // enough time for a late store
    ranks[1].abort(Code::Aborted);
    peer.join();
    EXPECT_EQ(Code::Aborted, code) << "round=" << round;
    ASSERT_EQ(static_cast<ptrdiff_t>(kCount), std::count(ours.begin(), ours.end(), 7.0f)) << "round=" << round;
  }
}

// Controls what the reduction of a rank does before each chunk, and counts its chunks.
struct Script {
  std::function<void(int chunk)> beforeChunk;
  int chunks = 0;
};
thread_local Script* script = nullptr;

void scriptedReduce(void* const* dsts, int ndst, const void* const* /*srcs*/, int /*nsrc*/, size_t count,
                    const PostOp& /*post*/, unsigned /*streamingMask*/) {
  if (script != nullptr && script->beforeChunk) script->beforeChunk(script->chunks);
  if (script != nullptr) ++script->chunks;
  for (int d = 0; d < ndst; ++d) std::fill_n(static_cast<float*>(dsts[d]), count, 3.0f);
}

// Two ranks with only the state that in-place operations need. Forked children share their memory.
class InPlacePair {
 public:
  explicit InPlacePair(TransportKind transport, BufferResolver* resolver) {
    SegmentShape shape = Engine::segmentShape(config());
    const uint64_t token[2] = {1, 2};
    for (int rank = 0; rank < 2; ++rank) {
      memory_.emplace_back(shape.bytes());
      segments_.emplace_back(memory_.back().data(), shape);
      segments_.back().writeHeader(rank, token);
    }
    for (int rank = 0; rank < 2; ++rank) {
      auto& one = ranks_[rank];
      one.control.events = &segments_[rank].events();
      one.zeroCopy.setOwn(segments_[rank]);
      one.zeroCopy.addPeer(1 - rank, transport, segments_[1 - rank]);
      one.zeroCopy.setResolver(resolver);
    }
  }

  WaitControl& control(int rank) { return ranks_[rank].control; }

  // Runs a rank's part of an all-reduce in which each rank reduces four chunks.
  ZeroCopy::Result run(int rank, float* buffer, int64_t timeoutNanos, Script* scripted) {
    script = scripted;
    Rank& one = ranks_[rank];
    one.control.timeoutNanos.store(timeoutNanos);
    Operation operation;
    operation.code = {Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
    operation.send = reinterpret_cast<const uint8_t*>(buffer);
    operation.recv = reinterpret_cast<uint8_t*>(buffer);
    operation.count = kCount;
    operation.bytes = kCount * sizeof(float);
    Transfer transfer;
    transfer.elementBytes = sizeof(float);
    transfer.reduce = scriptedReduce;
    return one.zeroCopy.run(operation, transfer, one.waiter);
  }

  static constexpr size_t kCount = 2 * 4 * kChunkFloats;

 private:
  static EngineConfig config() {
    EngineConfig config;
    config.size = 2;
    config.simpleSlotBytes = config.llSlotBytes = config.ll128SlotBytes = 1024;
    return config;
  }
  struct Rank {
    explicit Rank(int rank) : zeroCopy(rank, 2) {}
    WaitControl control;
    ProgressRecord record;
    Waiter waiter{control, record, true};
    ZeroCopy zeroCopy;
  };

  std::vector<Pages> memory_;
  std::vector<Segment> segments_;
  Rank ranks_[2] = {Rank(0), Rank(1)};
};

void waitFor(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

TEST(InPlaceFailure, TheOwnerWaitsForThePeersCurrentChunkAndNoMoreFollow) {
  SharedBuffers buffers;
  InPlacePair pair(TransportKind::P2p, &buffers);
  std::vector<float> ours(InPlacePair::kCount), theirs(InPlacePair::kCount);
  std::atomic<bool> inside{false}, goOn{false}, returned{false};
  Script slow;
  slow.beforeChunk = [&](int chunk) {
    if (chunk != 1) return;
    inside = true;
    waitFor(goOn);
  };
  std::thread peer([&] { EXPECT_EQ(ZeroCopy::Result::Failed, pair.run(1, theirs.data(), kSecond / 2, &slow)); });
  std::thread owner([&] {
    EXPECT_EQ(ZeroCopy::Result::Failed, pair.run(0, ours.data(), kTimeoutNanos, nullptr));
    returned = true;
  });
  waitFor(inside);
  pair.control(0).fail(Code::Aborted);
  for (const int64_t until = monotonicNanos() + kSecond / 5; !returned && monotonicNanos() < until;) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(returned.load()) << "the peer is inside of a chunk";
  goOn = true;
  owner.join();
  EXPECT_TRUE(returned.load());
  peer.join();
  EXPECT_EQ(2, slow.chunks) << "chunks of the peer, which was inside of the second";
}

TEST(InPlaceFailure, ARankThatFailsBeginsNoMoreChunks) {
  SharedBuffers buffers;
  InPlacePair pair(TransportKind::P2p, &buffers);
  std::vector<float> ours(InPlacePair::kCount), theirs(InPlacePair::kCount);
  Script failing;
  failing.beforeChunk = [&](int chunk) {
    if (chunk == 1) pair.control(1).fail(Code::Aborted);
  };
  std::thread peer([&] { EXPECT_EQ(ZeroCopy::Result::Failed, pair.run(1, theirs.data(), kTimeoutNanos, &failing)); });
  EXPECT_EQ(ZeroCopy::Result::Failed, pair.run(0, ours.data(), kSecond / 2, nullptr));
  peer.join();
  EXPECT_EQ(2, failing.chunks);
}

// A signal that stops or kills the peer's process inside a chunk.
struct Signalled {
  const char* name;
  int signal;

  friend std::ostream& operator<<(std::ostream& out, const Signalled& one) { return out << one.name; }
};
class InPlaceBetweenProcesses : public ::testing::TestWithParam<Signalled> {};

TEST_P(InPlaceBetweenProcesses, AProcessSignalledInsideAChunkStoresNothingLate) {
  const int signal = GetParam().signal;
  Pages ours(InPlacePair::kCount * sizeof(float)), theirs(ours.bytes());
  SharedBuffers buffers;
  buffers.isolatable = &ours.segment();
  InPlacePair pair(TransportKind::Shm, &buffers);
  const pid_t child = ::fork();
  if (child == 0) {
    Script stopping;
    stopping.beforeChunk = [&](int chunk) {
      if (chunk == 1) ::raise(signal);
    };
    const auto result = pair.run(1, theirs.floats(), kSecond / 2, &stopping);
    ::_exit(result == ZeroCopy::Result::Failed && stopping.chunks == 2 ? 0 : 1);
  }
  int64_t returned = 0;
  std::thread owner([&] {
    EXPECT_EQ(ZeroCopy::Result::Failed, pair.run(0, ours.floats(), kTimeoutNanos, nullptr));
    returned = monotonicNanos();
    std::fill_n(ours.floats(), InPlacePair::kCount, 7.0f);
  });
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, WUNTRACED));
  buffers.running = WIFSTOPPED(status);
  const int64_t aborted = monotonicNanos();
  pair.control(0).fail(Code::Aborted);
  owner.join();
  EXPECT_LT(returned - aborted, 5 * kSecond);
  EXPECT_EQ(signal == SIGSTOP ? 1 : 0, buffers.isolations);
  if (signal == SIGSTOP) {
    ASSERT_TRUE(WIFSTOPPED(status));
    ASSERT_EQ(0, ::kill(child, SIGCONT));
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, WEXITSTATUS(status)) << "the peer began another chunk, or did not fail";
  }
  EXPECT_EQ(static_cast<ptrdiff_t>(InPlacePair::kCount),
            std::count(ours.floats(), ours.floats() + InPlacePair::kCount, 7.0f));
}

INSTANTIATE_TEST_SUITE_P(Signals, InPlaceBetweenProcesses,
                         ::testing::Values(Signalled{"stopped", SIGSTOP}, Signalled{"killed", SIGKILL}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace jccl::test::in_place_failure_test
