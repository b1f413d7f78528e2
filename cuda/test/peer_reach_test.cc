// Tests of in-place operations on memory that the contexts of peers cannot access.
#include <cstring>

#include "cuda/driver/driver.h"
#include "cuda/test/application.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::peer_reach_test {
namespace {

using device::Issued;
using driver::driver;
using driver::Result;
using emulator::EmulatedDriver;

const Choice kInPlace = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);

// Ranks alternate between two devices that reach each other's memory.
class PeerReach : public ::testing::Test {
 protected:
  static constexpr size_t kCount = 60'001;  // two rounds of bounce buffers, and too large for one-shot

  void TearDown() override {
    EmulatedDriver::ofThisProcess().setPageable(true);
    for (void* memory : taken_) {
      Application().here([&] { return device::release(memory); });
    }
  }

  enum class Memory { Plain, Pool, Managed };
  float* take(Memory kind, int device, size_t count = kCount) {
    void* memory = nullptr;
    Application(device).here([&] {
      driver::Context context = nullptr;
      EXPECT_EQ(driver().primaryContext(&context, device), Result::Success);
      const size_t bytes = count * sizeof(float);
      return kind == Memory::Pool      ? emulator::allocateFromPool(context, bytes, memory)
             : kind == Memory::Managed ? emulator::allocateManaged(context, bytes, memory)
                                       : device::allocate(bytes, memory);
    });
    taken_.push_back(memory);
    return static_cast<float*>(memory);
  }

  static Issued run(DeviceRuntimeRanks& ranks, int rank, Collective collective, const float* send, float* recv,
                    int64_t count = kCount) {
    return ranks.rank(rank).run({collective, DataType::Float32, ReduceOp::Sum}, kInPlace, send, recv, count, 0,
                                kRuntimeLimitNanos, ranks.rank(rank).ownStream());
  }
  static float valueOf(int rank, size_t i) { return static_cast<float>(i % 1000) / 7.0f + static_cast<float>(rank); }
  static void fill(float* memory, int rank, size_t count = kCount) {
    for (size_t i = 0; i < count; ++i) memory[i] = valueOf(rank, i);
  }

  std::vector<void*> taken_;
};

// Some ranks have buffers that peers cannot access. The other ranks learn this only from the kernels of these ranks.
// The results must equal, bit for bit, those of a communicator whose buffers all ranks can access.
TEST_F(PeerReach, DataThatPeersCannotReachGoesThroughTheLibrarysMemory) {
  for (const Memory kind : {Memory::Pool, Memory::Managed}) {
    for (const int size : {2, 3, 8}) {
      for (const bool overwrites : {false, true}) {
        DeviceRuntimeRanks ranks(size, 2, 2), plain(size, 2, 2);
        std::vector<float*> sends, plainSends, recvs, expected;
        std::vector<Issued> issued, others;
        for (int rank = 0; rank < size; ++rank) {
          const Memory recv = rank == size - 1 ? kind : Memory::Plain;
          sends.push_back(take(rank == 1 ? kind : Memory::Plain, rank % 2));
          plainSends.push_back(take(Memory::Plain, rank % 2));
          recvs.push_back(overwrites ? sends[rank] : take(recv, rank % 2));
          expected.push_back(overwrites ? plainSends[rank] : take(Memory::Plain, rank % 2));
          fill(sends[rank], rank);
          fill(plainSends[rank], rank);
        }
        for (int rank = 0; rank < size; ++rank) {
          issued.push_back(run(ranks, rank, Collective::AllReduce, sends[rank], recvs[rank]));
        }
        for (int rank = 0; rank < size; ++rank) {
          ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
        }
        for (int rank = 0; rank < size; ++rank) {
          others.push_back(run(plain, rank, Collective::AllReduce, plainSends[rank], expected[rank]));
        }
        for (int rank = 0; rank < size; ++rank) {
          ASSERT_EQ(plain.await(rank, others[rank]), Code::Ok) << plain.rank(rank).lastError();
          ASSERT_EQ(std::memcmp(recvs[rank], expected[rank], kCount * sizeof(float)), 0) << "rank=" << rank;
          const std::string notice = ranks.rank(rank).takeNotice();
          EXPECT_EQ(notice.empty(), rank != 1 && (overwrites || rank != size - 1)) << notice;
          if (rank == 1) {
            EXPECT_NE(notice.find(kind == Memory::Pool ? "to which device=0 has no access" : "managed"),
                      std::string::npos)
                << notice;
          }
          EXPECT_FALSE(plain.rank(rank).hasNotice());
        }
        TearDown();
        taken_.clear();
      }
    }
  }
}

// Peers access neither the input of an all-gather nor the output of a reduce-scatter, so these buffers may be in memory
// that peers cannot access.
TEST_F(PeerReach, AllGatherAndReduceScatterUseMemoryThatPeersCannotReach) {
  constexpr int kSize = 3;
  constexpr size_t kPart = kCount / kSize;
  for (const bool byPeers : {false, true}) {
    DeviceRuntimeRanks ranks(kSize, 2, 2);
    float *parts[kSize], *gathered[kSize], *wholes[kSize], *scattered[kSize];
    for (int rank = 0; rank < kSize; ++rank) {
      const Memory ofPeers = byPeers && rank == 0 ? Memory::Pool : Memory::Plain;
      const Memory own = !byPeers && rank == 0 ? Memory::Pool : Memory::Plain;
      parts[rank] = take(own, rank % 2);
      gathered[rank] = take(ofPeers, rank % 2);
      wholes[rank] = take(ofPeers, rank % 2);
      scattered[rank] = take(own, rank % 2);
      fill(parts[rank], rank);
      fill(wholes[rank], rank);
    }
    std::vector<Issued> issued;
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_EQ(run(ranks, rank, Collective::AllGather, parts[rank], gathered[rank], kPart).code, Code::Ok);
      issued.push_back(run(ranks, rank, Collective::ReduceScatter, wholes[rank], scattered[rank], kPart));
    }
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
      for (size_t i = 0; i < kSize * kPart; ++i) {
        ASSERT_EQ(gathered[rank][i], valueOf(static_cast<int>(i / kPart), i % kPart)) << i;
      }
      for (size_t i = 0; i < kPart; ++i) {
        float sum = 0;
        for (int peer = 0; peer < kSize; ++peer) sum += valueOf(peer, rank * kPart + i);
        ASSERT_EQ(scattered[rank][i], sum) << i;
      }
      EXPECT_EQ(ranks.rank(rank).hasNotice(), byPeers && rank == 0);
    }
  }
}

TEST_F(PeerReach, ACapturedOperationUsesMemoryThatPeersCannotReach) {
  DeviceRuntimeRanks ranks(2, 2, 2);
  float* buffers[] = {take(Memory::Plain, 0), take(Memory::Pool, 1)};
  device::Graph graphs[2];
  for (int rank = 0; rank < 2; ++rank) {
    fill(buffers[rank], rank);
    Application(rank).beginCapture(ranks.rank(rank).ownStream());
    ASSERT_EQ(run(ranks, rank, Collective::AllReduce, buffers[rank], buffers[rank]).code, Code::Ok);
    graphs[rank] = Application(rank).endCapture(ranks.rank(rank).ownStream());
  }
  for (int replay = 0; replay < 2; ++replay) {
    for (int rank = 0; rank < 2; ++rank) Application(rank).replay(graphs[rank], ranks.rank(rank).ownStream());
  }
  for (int rank = 0; rank < 2; ++rank) {
    Application(rank).synchronize(ranks.rank(rank).ownStream());
    ASSERT_EQ(ranks.rank(rank).failure(), Code::Ok) << ranks.rank(rank).lastError();
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(buffers[rank][i], 2 * (valueOf(0, i) + valueOf(1, i))) << i;
  }
}

// The first operation queries all facts of a buffer; each later operation makes one query for each buffer.
TEST_F(PeerReach, KnownMemoryTakesOneQueryForEachBuffer) {
  DeviceRuntimeRanks ranks(1);
  const float* send = take(Memory::Plain, 0);
  float* recv = take(Memory::Plain, 0);
  const auto ask = [&](int64_t count) {
    const uint64_t before = EmulatedDriver::ofThisProcess().questions();
    EXPECT_EQ(ranks.await(0, run(ranks, 0, Collective::AllReduce, send, recv, count)), Code::Ok);
    return EmulatedDriver::ofThisProcess().questions() - before;
  };
  EXPECT_GT(ask(100), 2u);
  EXPECT_EQ(ask(100), 2u);
  EXPECT_EQ(ask(kCount), 2u);
}

// The driver reuses addresses, so the library must forget what it knew of freed memory.
TEST_F(PeerReach, MemoryThatWasFreedIsForgotten) {
  EmulatedDriver::ofThisProcess().setPageable(false);
  DeviceRuntimeRanks ranks(2, 2, 2);
  float* theirs = take(Memory::Plain, 1);
  fill(theirs, 1);
  for (const Memory kind : {Memory::Plain, Memory::Pool}) {
    float* mine = take(kind, 0);
    fill(mine, 0);
    const Issued issued = run(ranks, 0, Collective::AllReduce, mine, mine);
    ASSERT_EQ(ranks.await(1, run(ranks, 1, Collective::AllReduce, theirs, theirs)), Code::Ok);
    ASSERT_EQ(ranks.await(0, issued), Code::Ok);
    taken_.pop_back();
    Application().here([&] { return device::release(mine); });
    EXPECT_EQ(run(ranks, 0, Collective::AllReduce, mine, theirs).code, Code::Invalid);
    const std::string error = ranks.rank(0).lastError();
    EXPECT_NE(error.find("send address=0x"), std::string::npos) << error;
    EXPECT_NE(error.find("the driver knows no memory there"), std::string::npos) << error;
  }
  EXPECT_EQ(ranks.rank(0).failure(), Code::Ok) << "nothing was issued";
}

TEST_F(PeerReach, OperationsOnMemoryUnknownToTheDriverAreRefused) {
  EmulatedDriver::ofThisProcess().setPageable(false);
  DeviceRuntimeRanks ranks(1);
  std::vector<float> unknown(100);
  float* known = take(Memory::Plain, 0);
  device::DeviceCommunicator& one = ranks.rank(0);
  EXPECT_EQ(run(ranks, 0, Collective::AllReduce, known, unknown.data(), 100).code, Code::Invalid);
  EXPECT_NE(one.lastError().find("recv address=0x"), std::string::npos) << one.lastError();
  one.beginGroup();
  EXPECT_EQ(run(ranks, 0, Collective::AllReduce, known, known, 100).code, Code::Ok);
  EXPECT_EQ(run(ranks, 0, Collective::AllReduce, unknown.data(), known, 100).code, Code::Invalid);
  one.dropGroup();
  EXPECT_EQ(one.lastIssued(), 0u);
  EXPECT_EQ(ranks.await(0, run(ranks, 0, Collective::AllReduce, known, known, 100)), Code::Ok);
}

}  // namespace
}  // namespace jccl::test::peer_reach_test
