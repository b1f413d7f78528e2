// Tests of messages that are divided among several channels, and of the connections that only exchanges use.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "cuda/test/device_runtime_ranks.h"

namespace jccl::test::exchange_channels_test {
namespace {

using device::ExchangeTask;
using device::Issued;

constexpr int64_t kTimeoutNanos = 20'000'000'000;

ExchangeTask taskOf(int peer, int channels, int connected) {
  ExchangeTask task{};
  task.peer = peer;
  task.channels = static_cast<uint8_t>(channels);
  task.connected = static_cast<uint8_t>(connected);
  return task;
}

TEST(ExchangeChannels, EachPartOfAMessageHasOneChannelThatBothEndsKnow) {
  for (const int connected : {1, 2, 7}) {
    for (int channels = 1; channels <= connected; ++channels) {
      for (int rank = 0; rank < 5; ++rank) {
        for (int peer = 0; peer < 5; ++peer) {
          std::multiset<uint32_t> parts;
          for (uint32_t channel = 0; channel < 9; ++channel) {
            const uint32_t part = taskOf(peer, channels, connected).partOf(channel, rank);
            EXPECT_EQ(part, taskOf(rank, channels, connected).partOf(channel, peer));
            if (part < static_cast<uint32_t>(channels)) parts.insert(part);
          }
          ASSERT_EQ(parts.size(), static_cast<size_t>(channels));
          ASSERT_EQ(*parts.rbegin(), static_cast<uint32_t>(channels - 1));
        }
      }
    }
  }
}

// Some pairs of the six ranks are neighbours in rings and trees, and some are not. So there are full and compact
// connections.
TEST(ExchangeChannels, AllToAllsOfAnySizeArrive) {
  constexpr int kSize = 6;
  DeviceRuntimeRanks ranks(kSize, 4, 2);
  for (const size_t part : {size_t{1}, size_t{777}, device::kBytesPerChannel * 2 + 5, device::kBytesPerChannel * 9}) {
    const auto valueOf = [](int from, int to, size_t i) { return static_cast<uint8_t>(from * 41 + to * 7 + i % 251); };
    std::vector<std::vector<uint8_t>> sends(kSize), recvs(kSize);
    std::vector<Issued> issued;
    for (int rank = 0; rank < kSize; ++rank) {
      recvs[rank].resize(part * kSize);
      for (int to = 0; to < kSize; ++to) {
        for (size_t i = 0; i < part; ++i) sends[rank].push_back(valueOf(rank, to, i));
      }
      issued.push_back(ranks.rank(rank).run({Collective::AllToAll, DataType::Uint8, ReduceOp::Sum}, {},
                                            sends[rank].data(), recvs[rank].data(), static_cast<int64_t>(part), 0,
                                            kTimeoutNanos, ranks.rank(rank).ownStream()));
    }
    for (int rank = 0; rank < kSize; ++rank) {
      ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
      for (int from = 0; from < kSize; ++from) {
        for (size_t i = 0; i < part; ++i) {
          ASSERT_EQ(recvs[rank][from * part + i], valueOf(from, rank, i))
              << "rank=" << rank << " from=" << from << " i=" << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace jccl::test::exchange_channels_test
