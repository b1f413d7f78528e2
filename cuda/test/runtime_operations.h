// All-reduces on DeviceRuntimeRanks, and their buffers.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "cuda/test/device_runtime_ranks.h"
#include "test/rank_threads.h"

namespace jccl::test {

inline constexpr int64_t kRuntimeLimitNanos = 60'000'000'000;
inline constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

// Buffers of all ranks, filled so that the sum over ranks is known.
struct Buffers {
  Buffers(int size, size_t count) : ranks(size, std::vector<float>(count)) {
    for (int rank = 0; rank < size; ++rank) {
      for (size_t i = 0; i < count; ++i) ranks[rank][i] = static_cast<float>(i % 1000) + static_cast<float>(rank);
    }
  }
  // Expects every element to be `times` the sum of the ranks' initial elements.
  void expectSum(float times) const {
    const float n = static_cast<float>(ranks.size());
    for (const auto& rank : ranks) {
      for (size_t i = 0; i < rank.size(); ++i) {
        ASSERT_EQ(rank[i], times * (n * static_cast<float>(i % 1000) + n * (n - 1) / 2)) << i;
      }
    }
  }
  std::vector<std::vector<float>> ranks;
};

inline device::Issued allReduce(DeviceRuntimeRanks& ranks, int rank, Buffers& buffers, Choice choice,
                                device::Stream stream, int64_t timeoutNanos = kRuntimeLimitNanos) {
  std::vector<float>& buffer = buffers.ranks[rank];
  return ranks.rank(rank).run(kSum, choice, buffer.data(), buffer.data(), static_cast<int64_t>(buffer.size()), 0,
                              timeoutNanos, stream);
}

// Copies on a rank by a kernel: as a message from the rank to itself, which needs no peer to begin. `ranks` has two or
// more, because the driver copies for a single one.
inline device::Issued copyByKernel(DeviceRuntimeRanks& ranks, int rank, const void* from, void* to, size_t bytes,
                                   device::Stream stream, int64_t timeoutNanos = kRuntimeLimitNanos) {
  EXPECT_GT(ranks.size(), 1);
  auto* const source = static_cast<uint8_t*>(const_cast<void*>(from));
  return ranks.rank(rank).runPointToPoint({},
                                          {{PointToPointTask::Kind::Send, rank, source, bytes, 1},
                                           {PointToPointTask::Kind::Recv, rank, static_cast<uint8_t*>(to), bytes, 1}},
                                          timeoutNanos, stream);
}

inline Choice onTwoChannels(Algorithm algorithm, Protocol protocol, uint16_t flags = 0) {
  return choiceOf(algorithm, protocol, 2, 0, flags);
}

}  // namespace jccl::test
