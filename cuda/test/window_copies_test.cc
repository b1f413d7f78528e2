// Tests of all-gathers and all-to-alls by copy engines, on symmetric windows of threads and of ranks that treat each
// other as ranks of other processes.
#include <algorithm>
#include <cstring>

#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/left_memory.h"
#include "cuda/test/window_ranks.h"

namespace jccl::test::window_copies_test {
namespace {

using device::Issued;
using emulator::EmulatedDriver;
using emulator::EmulatedGpu;

constexpr OperationCode kGather{Collective::AllGather, DataType::Float32, ReduceOp::Sum};
constexpr OperationCode kToAll{Collective::AllToAll, DataType::Float32, ReduceOp::Sum};
constexpr uint16_t kCopies = Choice::kTryCopies;

float valueOf(int rank, size_t i) { return static_cast<float>(rank) * 1000 + static_cast<float>(i % 997); }

class WindowCopies : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1); }
  void TearDown() override {
    ::unsetenv("JCCL_EMULATED_SHARING");
    expectNothingLeft();
  }

  static size_t inputs(OperationCode code, int size) {
    return code.collective == Collective::AllToAll ? static_cast<size_t>(size) : 1;
  }
  // Fills the input of a rank: part i of an all-to-all goes to rank i.
  static void fill(float* send, OperationCode code, int rank, int size, size_t count) {
    for (size_t i = 0; i < inputs(code, size) * count; ++i) send[i] = valueOf(rank, i);
  }
  static void expectResult(const float* recv, OperationCode code, int rank, int size, size_t count) {
    for (int peer = 0; peer < size; ++peer) {
      const size_t skipped = inputs(code, size) == 1 ? 0 : static_cast<size_t>(rank) * count;
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(recv[static_cast<size_t>(peer) * count + i], valueOf(peer, skipped + i))
            << "rank=" << rank << " peer=" << peer << " i=" << i << " size=" << size;
      }
    }
  }
};

enum class Places { Equal, AnotherOffset, OtherMemory, InPlace };

// Runs both collectives with each kind of places, several times, and expects that the driver copies all data if the places are
// equal.
TEST_F(WindowCopies, MoveAllDataIfAllRanksUseEqualPlacesAndKernelsMoveItOtherwise) {
  const EmulatedDriver& driver = EmulatedDriver::ofThisProcess();
  for (const bool processes : {false, true}) {
    for (const int size : {2, 3, 5, 8}) {
      Windows windows(size, processes);
      for (const OperationCode code : {kGather, kToAll}) {
        for (const Places places : {Places::Equal, Places::AnotherOffset, Places::OtherMemory, Places::InPlace}) {
          if (places == Places::InPlace && code.collective != Collective::AllGather) continue;
          SCOPED_TRACE(std::string(processes ? "processes " : "threads ") + nameOf(code.collective) +
                       " size=" + std::to_string(size) + " places=" + std::to_string(static_cast<int>(places)));
          const size_t count = 1003;
          for (int round = 0; round < 8; ++round) {
            const uint64_t before = driver.copied();
            std::vector<std::vector<float>> outside(size, std::vector<float>(8 * count)), recvs = outside;
            std::vector<float*> results(size);
            std::vector<Issued> issued;
            for (int rank = 0; rank < size; ++rank) {
              const bool last = rank == size - 1;
              float* send = windows.window(rank, last && places == Places::AnotherOffset ? 8192 : 4096);
              if (last && places == Places::OtherMemory) send = outside[rank].data();
              results[rank] = recvs[rank].data();
              if (places == Places::InPlace) {
                results[rank] = windows.window(rank);
                send = results[rank] + static_cast<size_t>(rank) * count;
              }
              fill(send, code, rank, size, count);
              const uint16_t inPlace = round % 2 == 0 ? Choice::kTryZeroCopy : uint16_t{0};
              issued.push_back(windows.issue(rank, code, send, results[rank], count, kCopies | inPlace));
            }
            for (int rank = 0; rank < size; ++rank) {
              ASSERT_EQ(windows.ranks().await(rank, issued[rank]), Code::Ok) << windows.at(rank).lastError();
            }
            for (int rank = 0; rank < size; ++rank) expectResult(results[rank], code, rank, size, count);
            if (HasFatalFailure()) return;
            const uint64_t all = static_cast<uint64_t>(size) * size * count * sizeof(float);
            if (places == Places::Equal || places == Places::InPlace) {
              EXPECT_EQ(driver.copied() - before, places == Places::Equal ? all : all / size * (size - 1));
            }
          }
        }
      }
    }
  }
}

// Other operations between copies use the same channels.
TEST_F(WindowCopies, AlternateWithOperationsByKernels) {
  for (const bool processes : {false, true}) {
    Windows windows(4, processes);
    constexpr size_t kCount = 700;
    for (int round = 0; round < 6; ++round) {
      const OperationCode code = round % 3 == 0 ? kToAll : kGather;
      const uint16_t flags = round % 2 == 0 ? kCopies : round == 3 ? Choice::kTryZeroCopy : uint16_t{0};
      std::vector<std::vector<float>> recvs(4, std::vector<float>(4 * kCount));
      std::vector<Issued> issued;
      for (int rank = 0; rank < 4; ++rank) {
        fill(windows.window(rank), code, rank, 4, kCount);
        issued.push_back(windows.issue(rank, code, windows.window(rank), recvs[rank].data(), kCount, flags));
      }
      for (int rank = 0; rank < 4; ++rank) ASSERT_EQ(windows.ranks().await(rank, issued[rank]), Code::Ok);
      for (int rank = 0; rank < 4; ++rank) expectResult(recvs[rank].data(), code, rank, 4, kCount);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(WindowCopies, AreCapturedAndReplayed) {
  for (const bool processes : {false, true}) {
    for (const OperationCode code : {kGather, kToAll}) {
      constexpr int kSize = 3;
      constexpr size_t kCount = 555;
      Windows windows(kSize, processes);
      std::vector<std::vector<float>> recvs(kSize, std::vector<float>(kSize * kCount));
      std::vector<device::Graph> graphs;
      for (int rank = 0; rank < kSize; ++rank) {
        const device::Stream stream = windows.at(rank).ownStream();
        windows.application(rank).beginCapture(stream);
        EXPECT_EQ(windows.issue(rank, code, windows.window(rank), recvs[rank].data(), kCount).code, Code::Ok)
            << windows.at(rank).lastError();
        graphs.push_back(windows.application(rank).endCapture(stream));
      }
      for (int replay = 0; replay < 3; ++replay) {
        for (int rank = 0; rank < kSize; ++rank) {
          fill(windows.window(rank), code, rank + replay, kSize, kCount);
          std::fill(recvs[rank].begin(), recvs[rank].end(), -1.f);
        }
        for (int rank = 0; rank < kSize; ++rank) {
          windows.application(rank).replay(graphs[rank], windows.at(rank).ownStream());
        }
        for (int rank = 0; rank < kSize; ++rank) {
          windows.application(rank).synchronize(windows.at(rank).ownStream());
          ASSERT_EQ(windows.at(rank).failure(), Code::Ok) << windows.at(rank).lastError();
        }
        for (int rank = 0; rank < kSize; ++rank) {
          for (size_t i = 0; i < kSize * kCount; ++i) {
            const int peer = static_cast<int>(i / kCount);
            const size_t skipped = inputs(code, kSize) == 1 ? 0 : static_cast<size_t>(rank) * kCount;
            ASSERT_EQ(recvs[rank][i], valueOf(peer + replay, skipped + i % kCount)) << "replay=" << replay;
          }
        }
      }
    }
  }
}

// The operations of a group keep their order: the second one reads what the first one writes.
TEST_F(WindowCopies, AreOrderedInAGroup) {
  constexpr int kSize = 2;
  constexpr size_t kCount = 300;
  Windows windows(kSize, false);
  std::vector<std::vector<float>> recvs(kSize, std::vector<float>(kSize * kSize * kCount));
  std::vector<Issued> issued;
  for (int rank = 0; rank < kSize; ++rank) {
    float* between = windows.window(rank, kWindowBytes / 2);
    fill(windows.window(rank), kGather, rank, kSize, kCount);
    windows.at(rank).beginGroup();
    (void)windows.issue(rank, kGather, windows.window(rank), between, kCount);
    (void)windows.issue(rank, kGather, between, recvs[rank].data(), kSize * kCount);
    issued.push_back(windows.at(rank).endGroup(kRuntimeLimitNanos, windows.at(rank).ownStream()));
  }
  for (int rank = 0; rank < kSize; ++rank) ASSERT_EQ(windows.ranks().await(rank, issued[rank]), Code::Ok);
  for (int rank = 0; rank < kSize; ++rank) {
    expectResult(recvs[rank].data(), kGather, rank, kSize, kCount);
    expectResult(recvs[rank].data() + kSize * kCount, kGather, rank, kSize, kCount);
  }
}

// A rank waits for one that never calls, until its limit or an abort ends the wait.
TEST_F(WindowCopies, EndIfAPeerNeverComes) {
  for (const bool processes : {false, true}) {
    for (const bool aborts : {false, true}) {
      Windows windows(3, processes);
      std::vector<std::vector<float>> recvs(3, std::vector<float>(3000));
      std::vector<Issued> issued;
      for (int rank = 0; rank < 2; ++rank) {
        issued.push_back(windows.issue(rank, kGather, windows.window(rank), recvs[rank].data(), 1000, kCopies,
                                       aborts ? kRuntimeLimitNanos : 30'000'000));
      }
      for (int rank = 0; rank < 2; ++rank) {
        if (aborts) windows.at(rank).abort(Code::Aborted);
        EXPECT_EQ(windows.ranks().await(rank, issued[rank]), aborts ? Code::Aborted : Code::Timeout);
        windows.application(rank).synchronize(windows.at(rank).ownStream());
      }
      EXPECT_EQ(windows.issue(0, kGather, windows.window(0), recvs[0].data(), 1000).code,
                aborts ? Code::Aborted : Code::Timeout);
    }
  }
}

TEST_F(WindowCopies, FindThatRanksGatherDifferentCounts) {
  for (const bool processes : {false, true}) {
    Windows windows(2, processes);
    std::vector<std::vector<float>> recvs(2, std::vector<float>(2000));
    std::vector<Issued> issued;
    for (int rank = 0; rank < 2; ++rank) {
      issued.push_back(windows.issue(rank, kGather, windows.window(rank), recvs[rank].data(), 1000 - rank));
    }
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(windows.ranks().await(rank, issued[rank]), Code::Mismatch);
  }
}

// Without a window, and for operations that copies do not execute, the flag changes nothing.
TEST_F(WindowCopies, AreNotTriedWithoutWindowsOrForOtherOperations) {
  const EmulatedDriver& driver = EmulatedDriver::ofThisProcess();
  DeviceRuntimeRanks ranks(2);
  Buffers buffers(2, 500);
  const uint64_t before = driver.copied();
  std::vector<std::vector<float>> recvs(2, std::vector<float>(1000));
  const Choice choice = onTwoChannels(Algorithm::Ring, Protocol::Simple, kCopies);
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    issued.push_back(ranks.rank(rank).run(kGather, choice, buffers.ranks[rank].data(), recvs[rank].data(), 500, 0,
                                          kRuntimeLimitNanos, ranks.rank(rank).ownStream()));
    EXPECT_EQ(issued.back().choice.flags & kCopies, 0);
  }
  for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  EXPECT_EQ(driver.copied(), before);
}

}  // namespace
}  // namespace jccl::test::window_copies_test
