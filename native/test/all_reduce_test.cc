// Tests of all-reduce: algorithms x protocols x ranks x counts x alignment x in place, compared bit for bit.
#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "test/rank_threads.h"
#include "test/sanitized.h"

namespace jccl::test::all_reduce_test {
namespace {

constexpr size_t kCounts[] = {0, 1, 3, 17, 250, 1023, 5000, kSanitized ? 9001 : 40001};

float valueOf(int rank, size_t i) { return static_cast<float>((rank + 1) * static_cast<int>(i % 13 + 1)); }
float sumOf(int ranks, size_t i) { return static_cast<float>(ranks * (ranks + 1) / 2 * static_cast<int>(i % 13 + 1)); }

using Parameter = std::tuple<int, Algorithm, Protocol, int, uint16_t>;  // ranks, algorithm, protocol, channels, flags

class AllReduceTest : public ::testing::TestWithParam<Parameter> {};

TEST_P(AllReduceTest, SumsExactlyOnAllRanks) {
  const auto [ranks, algorithm, protocol, channels, flags] = GetParam();
  RankThreads threads(ranks, channels);
  threads.run(
      [&, algorithm = algorithm, protocol = protocol, channels = channels, flags = flags](Engine& communicator) {
        int round = 0;
        for (const size_t count : kCounts) {
          for (const bool inPlace : {false, true}) {
            const size_t skew = round++ % 3 == 1 ? 1 : 0;
            Guarded send(count * sizeof(float), skew), recv(count * sizeof(float), skew, 0xEE);
            for (size_t i = 0; i < count; ++i) send.set<float>(i, valueOf(communicator.rank(), i));
            Guarded& result = inPlace ? send : recv;
            const Code code = communicator.run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                                               choiceOf(algorithm, protocol, channels, 3000, flags), send.address(),
                                               result.address(), static_cast<int64_t>(count), 0, kTimeoutNanos);
            ASSERT_EQ(code, Code::Ok) << communicator.lastError();
            for (size_t i = 0; i < count; ++i) {
              ASSERT_EQ(result.get<float>(i), sumOf(communicator.size(), i)) << "count=" << count << " i=" << i;
              if (!inPlace) {
                ASSERT_EQ(send.get<float>(i), valueOf(communicator.rank(), i)) << "send buffer changed, i=" << i;
              }
            }
            ASSERT_TRUE(send.intact() && recv.intact()) << "count=" << count;
          }
        }
      });
}

std::string nameOfParameter(const ::testing::TestParamInfo<Parameter>& info) {
  const auto [ranks, algorithm, protocol, channels, flags] = info.param;
  return std::string(nameOf(algorithm)) + "_" + nameOf(protocol) + "_ranks" + std::to_string(ranks) + "_channels" +
         std::to_string(channels) +
         (flags == Choice::kTryZeroCopy ? "_inplace"
          : flags == Choice::kTwoShot   ? "_two_shot"
                                        : "");
}

INSTANTIATE_TEST_SUITE_P(Matrix, AllReduceTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 8),
                                            ::testing::Values(Algorithm::Ring, Algorithm::Tree, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(1, 3), ::testing::Values(uint16_t{0})),
                         nameOfParameter);
// A ring so long that a rank forwards more chunks in a round than a connection has slots.
INSTANTIATE_TEST_SUITE_P(LongRing, AllReduceTest,
                         ::testing::Combine(::testing::Values(13), ::testing::Values(Algorithm::Ring),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(1), ::testing::Values(uint16_t{0})),
                         nameOfParameter);
INSTANTIATE_TEST_SUITE_P(ZeroCopy, AllReduceTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5, 8), ::testing::Values(Algorithm::Ring),
                                            ::testing::Values(Protocol::Simple), ::testing::Values(1),
                                            ::testing::Values(Choice::kTryZeroCopy)),
                         nameOfParameter);
INSTANTIATE_TEST_SUITE_P(TwoShot, AllReduceTest,
                         ::testing::Combine(::testing::Values(2, 3, 4, 5, 8), ::testing::Values(Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(1, 3), ::testing::Values(Choice::kTwoShot)),
                         nameOfParameter);

// All-reduces with chunks of many sizes, so that chunks use all parts of their slots and are written through the cache
// or past it. If ranks outnumber cores, every chunk is stored at the beginning of its slot.
class AllReduceChunks : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Cores, AllReduceChunks, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "one" : "enough"; });

TEST_P(AllReduceChunks, AlternateBetweenThePartsOfTheirSlots) {
  for (const int ranks : {2, 3}) {
    RankThreads threads(ranks, 1, [](EngineConfig& config) {
      config.cores = GetParam() ? 1 : config.size;
      config.simpleSlotBytes = 64 * 1024;
    });
    EXPECT_EQ(threads[0].segmentShape().rotates, !GetParam());
    threads.run([&](Engine& communicator) {
      for (int round = 0; round < 12; ++round) {
        for (size_t count = 1000; count < 120'000; count = count * 2 + 7) {
          Guarded send(count * sizeof(float)), recv(count * sizeof(float), 0, 0xEE);
          for (size_t i = 0; i < count; ++i) send.set<float>(i, valueOf(communicator.rank(), i + round));
          ASSERT_EQ(communicator.run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                                     choiceOf(round % 3 == 2 ? Algorithm::Direct : Algorithm::Ring, Protocol::Simple, 1,
                                              round % 2 == 0 ? 0 : 20'000),
                                     send.address(), recv.address(), static_cast<int64_t>(count), 0, kTimeoutNanos),
                    Code::Ok)
              << communicator.lastError();
          for (size_t i = 0; i < count; ++i) ASSERT_EQ(recv.get<float>(i), sumOf(ranks, i + round)) << "i=" << i;
          ASSERT_TRUE(recv.intact()) << "count=" << count;
        }
      }
    });
  }
}

// Averages that are not exact must still have equal bits on all ranks and in repeated operations.
TEST(AllReduceBits, AreTheSameOnAllRanksAndOnRepeat) {
  constexpr int kRanks = 5;
  constexpr size_t kCount = 3001;
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
    for (const DataType type : {DataType::Float32, DataType::Bfloat16}) {
      RankThreads threads(kRanks);
      const size_t bytes = kCount * sizeOf(type);
      std::vector<std::vector<uint8_t>> results(kRanks * 2);
      threads.run([&](Engine& communicator) {
        Guarded send(bytes);
        for (size_t i = 0; i < bytes / 2; ++i) {
          // Arbitrary fractions with a small exponent.
          send.set<uint16_t>(i, static_cast<uint16_t>(0x3f00 + (i * 2654435761u + communicator.rank() * 40503u) % 256));
        }
        for (int repeat = 0; repeat < 2; ++repeat) {
          Guarded recv(bytes);
          ASSERT_EQ(
              communicator.run({Collective::AllReduce, type, ReduceOp::Avg}, choiceOf(algorithm, Protocol::Simple),
                               send.address(), recv.address(), kCount, 0, kTimeoutNanos),
              Code::Ok);
          results[communicator.rank() * 2 + repeat].assign(recv.data(), recv.data() + bytes);
        }
      });
      for (const auto& result : results) EXPECT_EQ(result, results[0]) << nameOf(algorithm) << " " << nameOf(type);
    }
  }
}

// Buffers of several chunks, the last of which is shorter than a line. In-place operations alternately walk their
// buffers upwards and downwards. Sums whose bits depend on the order of addition must be equal on all ranks and in both
// directions.
TEST(AllReduceBits, DoNotDependOnTheDirectionOfTheWalk) {
  constexpr size_t kCount = 150'003;
  for (const int ranks : {2, 3}) {
    for (const uint16_t flags : {uint16_t{0}, Choice::kTryZeroCopy}) {
      for (const DataType type : {DataType::Float32, DataType::Bfloat16}) {
        RankThreads threads(ranks, 1, [](EngineConfig& config) { config.simpleSlotBytes = 64 * 1024; });
        const size_t bytes = kCount * sizeOf(type);
        std::vector<std::vector<uint8_t>> results(ranks * 4);
        threads.run([&](Engine& communicator) {
          Guarded send(bytes);
          for (size_t i = 0; i < bytes / 2; ++i) {
            send.set<uint16_t>(i,
                               static_cast<uint16_t>(0x3f00 + (i * 2654435761u + communicator.rank() * 40503u) % 256));
          }
          for (int repeat = 0; repeat < 4; ++repeat) {
            Guarded recv(bytes, repeat % 2 == 0 ? 0 : 2, 0xEE);
            ASSERT_EQ(communicator.run({Collective::AllReduce, type, ReduceOp::Avg},
                                       choiceOf(Algorithm::Ring, Protocol::Simple, 1, 0, flags), send.address(),
                                       recv.address(), kCount, 0, kTimeoutNanos),
                      Code::Ok)
                << communicator.lastError();
            ASSERT_EQ((communicator.lastChoice().flags & Choice::kZeroCopyUsed) != 0, flags != 0);
            ASSERT_TRUE(recv.intact());
            results[communicator.rank() * 4 + repeat].assign(recv.data(), recv.data() + bytes);
          }
        });
        for (const auto& result : results) EXPECT_TRUE(result == results[0]) << ranks << " ranks " << nameOf(type);
      }
    }
  }
}

// A resolver that makes the engine treat the test's threads as processes. Locates either all buffers or none.
class SomeBuffers final : public BufferResolver {
 public:
  explicit SomeBuffers(bool shares) : shares_(shares) {}
  bool locate(const void* address, size_t, uint64_t& segment, uint64_t& offset) override {
    segment = 1;
    offset = reinterpret_cast<uint64_t>(address);
    return shares_;
  }
  uint8_t* resolve(int, uint64_t, uint64_t offset, size_t) override { return reinterpret_cast<uint8_t*>(offset); }
  bool isRunning(int) override { return true; }
  void isolate(int, void*, size_t, int64_t) override { ADD_FAILURE() << "nothing fails here"; }
  void share(bool shares) { shares_ = shares; }

 private:
  bool shares_;
};

TEST(AllReduceZeroCopy, FallsBackWhenOneRankHasOrdinaryBuffers) {
  constexpr int kRanks = 3;
  for (const bool all : {true, false}) {
    RankThreads threads(kRanks, 1, {}, TransportKind::Shm);
    SomeBuffers shared(true), ordinary(all);
    for (int rank = 0; rank < kRanks; ++rank) threads[rank].setBufferResolver(rank == 1 ? &ordinary : &shared);
    threads.run([&](Engine& communicator) {
      for (size_t count = 1; count < 20000; count = count * 3 + 1) {
        Guarded buffer(count * sizeof(float));
        for (size_t i = 0; i < count; ++i) buffer.set<float>(i, valueOf(communicator.rank(), i));
        ASSERT_EQ(communicator.run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                                   choiceOf(Algorithm::Ring, Protocol::Simple, 1, 0, Choice::kTryZeroCopy),
                                   buffer.address(), buffer.address(), static_cast<int64_t>(count), 0, kTimeoutNanos),
                  Code::Ok)
            << communicator.lastError();
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(buffer.get<float>(i), sumOf(kRanks, i));
        EXPECT_EQ((communicator.lastChoice().flags & Choice::kZeroCopyUsed) != 0, all);
      }
    });
  }
}

// Ranks change between ordinary and shared buffers at different times. In every operation all ranks must agree whether
// buffers are used in place, even after a rank has declared its buffers ordinary in advance. Once all ranks keep to
// shared buffers, these are used in place.
TEST(AllReduceZeroCopy, RanksThatChangeTheirBuffersAgree) {
  constexpr int kRanks = 3, kOperations = 1500, kSharedFrom = 1300;
  constexpr size_t kCount = 50;
  RankThreads threads(kRanks, 1, {}, TransportKind::Shm);
  std::vector<SomeBuffers> buffers(kRanks, SomeBuffers(true));
  std::vector<std::vector<bool>> used(kRanks, std::vector<bool>(kOperations));
  for (int rank = 0; rank < kRanks; ++rank) threads[rank].setBufferResolver(&buffers[static_cast<size_t>(rank)]);
  threads.run([&](Engine& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    std::minstd_rand random(static_cast<unsigned>(rank) + 1);
    size_t next = 0;
    bool shares = false;
    for (size_t i = 0; i < kOperations; ++i) {
      if (i == next) {
        shares = !shares || i >= kSharedFrom;
        next = i + 1 + random() % (random() % 3 == 0 ? 200 : 5);
      }
      buffers[rank].share(shares || i >= kSharedFrom);
      Guarded buffer(kCount * sizeof(int32_t));
      for (size_t at = 0; at < kCount; ++at) buffer.set<int32_t>(at, static_cast<int32_t>(i + rank * at));
      ASSERT_EQ(communicator.run({Collective::AllReduce, DataType::Int32, ReduceOp::Sum},
                                 choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kTryZeroCopy),
                                 buffer.address(), buffer.address(), kCount, 0, kTimeoutNanos),
                Code::Ok)
          << communicator.lastError();
      for (size_t at = 0; at < kCount; ++at) {
        ASSERT_EQ(buffer.get<int32_t>(at), static_cast<int32_t>(kRanks * i + 3 * at)) << "operation " << i;
      }
      used[rank][i] = (communicator.lastChoice().flags & Choice::kZeroCopyUsed) != 0;
    }
  });
  EXPECT_EQ(used[0], used[1]);
  EXPECT_EQ(used[0], used[2]);
  EXPECT_TRUE(used[0][0]);
  EXPECT_TRUE(std::all_of(used[0].begin() + kSharedFrom + 65, used[0].end(), [](bool one) { return one; }));
  EXPECT_GT(std::count(used[0].begin(), used[0].begin() + kSharedFrom, true), 20);
}

// A rank that only sends, from ordinary buffers, waits for no rank. It gets ahead of ranks that wait for its
// descriptors.
TEST(CollectivesZeroCopy, ARankWithOrdinaryBuffersMayBeAheadByManyOperations) {
  constexpr int kRanks = 3, kRoot = 1, kOperations = 60;
  constexpr size_t kCount = 100;
  for (const Collective collective : {Collective::Broadcast, Collective::Reduce, Collective::Scatter}) {
    const bool rootSends = collective != Collective::Reduce;
    RankThreads threads(kRanks, 1, {}, TransportKind::Shm);
    SomeBuffers shared(true), ordinary(false);
    for (int rank = 0; rank < kRanks; ++rank) {
      threads[rank].setBufferResolver((rank == kRoot) == rootSends ? &ordinary : &shared);
    }
    threads.run([&](Engine& communicator) {
      const bool sends = (communicator.rank() == kRoot) == rootSends;
      if (!sends) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      for (int i = 0; i < kOperations; ++i) {
        Guarded send(kRanks * kCount * 4, 0, static_cast<uint8_t>(i)), recv(kRanks * kCount * 4);
        ASSERT_EQ(communicator.run({collective, DataType::Uint8, ReduceOp::Max},
                                   choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kTryZeroCopy),
                                   send.address(), recv.address(), kCount, kRoot, kTimeoutNanos),
                  Code::Ok)
            << nameOf(collective) << " " << communicator.lastError();
        EXPECT_EQ(communicator.lastChoice().flags & Choice::kZeroCopyUsed, 0);
        ASSERT_TRUE(sends || recv.data()[kCount - 1] == static_cast<uint8_t>(i)) << nameOf(collective);
      }
    });
  }
}

}  // namespace
}  // namespace jccl::test::all_reduce_test
