// Tests of StorePolicy with invented times: ranks must find the faster kind of store together, keep to it, and notice
// when the other kind becomes faster.
#include "engine/store_policy.h"

#include <gtest/gtest.h>

#include <array>

namespace jccl::store_policy_test {
namespace {

constexpr size_t kBytes = 1 << 20;

// Two ranks on a host where each kind of store takes a fixed time. An operation takes as long as its slower rank.
class Host {
 public:
  Host(int64_t cachedNanos, int64_t streamedNanos) : nanos_{cachedNanos, streamedNanos} {}

  void become(int64_t cachedNanos, int64_t streamedNanos) {
    nanos_[0] = cachedNanos;
    nanos_[1] = streamedNanos;
  }

  // Runs operations. Returns the share of them in which both ranks streamed their stores.
  double run(std::array<StorePolicy, 2>& ranks, int operations, size_t bytes = kBytes,
             Collective collective = Collective::AllReduce) {
    int streamedByBoth = 0;
    for (int i = 0; i < operations; ++i) {
      const bool first = ranks[0].streams(collective, bytes);
      const bool second = ranks[1].streams(collective, bytes);
      int64_t nanos = std::max(nanos_[first], nanos_[second]);
      if (++operations_ % 7 == 0) nanos *= 20;  // every seventh operation is late
      for (auto& rank : ranks) rank.took(collective, bytes, nanos);
      if (first && second) ++streamedByBoth;
    }
    return static_cast<double>(streamedByBoth) / operations;
  }

 private:
  int64_t nanos_[2];
  int64_t operations_ = 0;
};

TEST(StorePolicy, StaysInTheCacheIfThatIsFaster) {
  std::array<StorePolicy, 2> ranks;
  EXPECT_LT(Host(60'000, 140'000).run(ranks, 10'000), 0.05);
}

TEST(StorePolicy, WritesPastTheCacheIfThatIsFaster) {
  std::array<StorePolicy, 2> ranks;
  EXPECT_GT(Host(640'000, 120'000).run(ranks, 10'000), 0.95);
}

TEST(StorePolicy, FollowsTheRanksToOtherCores) {
  std::array<StorePolicy, 2> ranks;
  Host host(60'000, 140'000);
  host.run(ranks, 1'000);
  host.become(640'000, 120'000);
  host.run(ranks, 1'000);
  EXPECT_GT(host.run(ranks, 10'000), 0.95);
  host.become(60'000, 140'000);
  host.run(ranks, 1'000);
  EXPECT_LT(host.run(ranks, 10'000), 0.05);
}

// The two ranks measure opposite differences and disagree. In the next measurement both must still use the same kind.
TEST(StorePolicy, MeasuresTheSameKindOnAllRanksAtATime) {
  std::array<StorePolicy, 2> ranks;
  int together[2] = {0, 0};
  for (int i = 0; i < 10'000; ++i) {
    const bool first = ranks[0].streams(Collective::AllReduce, kBytes);
    const bool second = ranks[1].streams(Collective::AllReduce, kBytes);
    if (first == second) ++together[first];
    ranks[0].took(Collective::AllReduce, kBytes, first ? 100 : 200);
    ranks[1].took(Collective::AllReduce, kBytes, second ? 200 : 100);
  }
  EXPECT_GT(together[0], 20);
  EXPECT_GT(together[1], 20);
}

TEST(StorePolicy, DecidesForEachSizeSeparately) {
  std::array<StorePolicy, 2> ranks;
  Host small(5'000, 12'000);
  Host large(9'000'000, 3'000'000);
  EXPECT_LT(small.run(ranks, 1'000, 64 << 10), 0.05);
  EXPECT_GT(large.run(ranks, 1'000, 64 << 20), 0.9);
  EXPECT_LT(small.run(ranks, 1'000, 64 << 10), 0.05);
}

TEST(StorePolicy, DecidesForEachCollectiveSeparately) {
  std::array<StorePolicy, 2> ranks;
  Host reducing(5'000, 12'000);
  Host gathering(9'000, 3'000);
  for (int i = 0; i < 2'000; ++i) {
    reducing.run(ranks, 1);
    gathering.run(ranks, 1, kBytes, Collective::AllGather);
  }
  EXPECT_LT(reducing.run(ranks, 1'000), 0.05);
  EXPECT_GT(gathering.run(ranks, 1'000, kBytes, Collective::AllGather), 0.95);
}

// A sender that waits for its receiver only if no slot is free.
class OneWay {
 public:
  struct Nanos {
    int64_t store, load;
  };
  OneWay(Nanos cached, Nanos streamed) : nanos_{cached, streamed} {}

  // Runs broadcasts. Returns the share of the last thousand that used streaming stores.
  double run(int operations) {
    StorePolicy sender;
    std::array<int64_t, kSlots> freed{};
    int64_t sent = 0, received = 0;
    int streamed = 0;
    for (int i = 0; i < operations; ++i) {
      const bool streams = sender.streams(Collective::Broadcast, kBytes);
      const int64_t start = sent;
      sent = std::max(sent, freed[i % kSlots]) + nanos_[streams].store + (i % 509 == 0 ? 20 * nanos_[0].load : 0);
      received = std::max(received, sent) + nanos_[streams].load;
      freed[i % kSlots] = received;
      sender.took(Collective::Broadcast, kBytes, sent - start);
      if (streams && i >= operations - 1000) ++streamed;
    }
    return streamed / 1000.0;
  }

 private:
  Nanos nanos_[2];
};

TEST(StorePolicy, WeighsTheReceiversLoadsIfTheSenderIsAhead) {
  EXPECT_LT(OneWay({1000, 1500}, {600, 4000}).run(10'000), 0.05);
  EXPECT_GT(OneWay({1000, 6000}, {1500, 2000}).run(10'000), 0.95);
}

TEST(StorePolicy, KeepsToTheGuessUntilAMeasurementHasEnded) {
  StorePolicy second(1);
  int streamed = 0, operations = 0;
  // This policy is the second one in order: it measures after the first policy, whose measurement takes four operations
  // for each kind of store.
  for (; operations < 8; ++operations) {
    streamed += second.streams(Collective::AllReduce, kBytes, true) ? 1 : 0;
    second.took(Collective::AllReduce, kBytes, 1);
  }
  EXPECT_EQ(streamed, 8);
  for (; operations < 16; ++operations) {
    const bool streams = second.streams(Collective::AllReduce, kBytes, true);
    EXPECT_EQ(streams, operations >= 12);
    second.took(Collective::AllReduce, kBytes, streams ? 200 : 100);
  }
  EXPECT_FALSE(second.streams(Collective::AllReduce, kBytes, true));
}

TEST(StorePolicy, DifferentOrdersNeverMeasureAtTheSameTime) {
  std::array<StorePolicy, 2> questions{StorePolicy(0), StorePolicy(1)};
  int both = 0, each[2] = {0, 0};
  for (int i = 0; i < 10'000; ++i) {
    bool streams[2];
    for (int q = 0; q < 2; ++q) {
      streams[q] = questions[q].streams(Collective::AllReduce, kBytes);
      each[q] += streams[q] ? 1 : 0;
    }
    both += streams[0] && streams[1] ? 1 : 0;
    for (int q = 0; q < 2; ++q) questions[q].took(Collective::AllReduce, kBytes, streams[q] ? 200 : 100);
  }
  EXPECT_EQ(both, 0);
  EXPECT_GT(each[0], 20);
  EXPECT_EQ(each[0], each[1]);
}

}  // namespace
}  // namespace jccl::store_policy_test
