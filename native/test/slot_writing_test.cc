// SlotWriting with made-up times: ranks must find the faster way together, stay with it, and notice when that changes.
#include "engine/slot_writing.h"

#include <gtest/gtest.h>

#include <array>

namespace jccl {
namespace {

constexpr size_t kBytes = 1 << 20;

// Two ranks on a machine on which both ways take a fixed time, and an operation as long as the slower rank's way.
class Machine {
 public:
  Machine(int64_t cachedNanos, int64_t streamedNanos) : nanos_{cachedNanos, streamedNanos} {}

  void become(int64_t cachedNanos, int64_t streamedNanos) {
    nanos_[0] = cachedNanos;
    nanos_[1] = streamedNanos;
  }

  // Runs so many operations; returns the share of them that both ranks streamed.
  double run(std::array<SlotWriting, 2>& ranks, int operations, size_t bytes = kBytes,
             Collective collective = Collective::AllReduce) {
    int streamedByBoth = 0;
    for (int i = 0; i < operations; ++i) {
      const bool first = ranks[0].streams(collective, bytes);
      const bool second = ranks[1].streams(collective, bytes);
      int64_t nanos = std::max(nanos_[first], nanos_[second]);
      if (++operations_ % 7 == 0) nanos *= 20;  // now and then one is late
      for (auto& rank : ranks) rank.took(collective, bytes, nanos);
      if (first && second) ++streamedByBoth;
    }
    return static_cast<double>(streamedByBoth) / operations;
  }

 private:
  int64_t nanos_[2];
  int64_t operations_ = 0;
};

TEST(SlotWriting, staysInTheCacheWhereThatIsFaster) {
  std::array<SlotWriting, 2> ranks;
  EXPECT_LT(Machine(60'000, 140'000).run(ranks, 10'000), 0.05);
}

TEST(SlotWriting, writesPastTheCacheWhereThatIsFaster) {
  std::array<SlotWriting, 2> ranks;
  EXPECT_GT(Machine(640'000, 120'000).run(ranks, 10'000), 0.95);
}

TEST(SlotWriting, followsTheRanksToOtherCores) {
  std::array<SlotWriting, 2> ranks;
  Machine machine(60'000, 140'000);
  machine.run(ranks, 1'000);
  machine.become(640'000, 120'000);
  machine.run(ranks, 1'000);
  EXPECT_GT(machine.run(ranks, 10'000), 0.95);
  machine.become(60'000, 140'000);
  machine.run(ranks, 1'000);
  EXPECT_LT(machine.run(ranks, 10'000), 0.05);
}

// Where only one sees a difference, so that they disagree, the next trial still has both go the same way.
TEST(SlotWriting, triesTheSameWayOnAllRanksAtATime) {
  std::array<SlotWriting, 2> ranks;
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

TEST(SlotWriting, decidesForEverySizeOfItsOwn) {
  std::array<SlotWriting, 2> ranks;
  Machine small(5'000, 12'000);
  Machine large(9'000'000, 3'000'000);
  EXPECT_LT(small.run(ranks, 1'000, 64 << 10), 0.05);
  EXPECT_GT(large.run(ranks, 1'000, 64 << 20), 0.9);
  EXPECT_LT(small.run(ranks, 1'000, 64 << 10), 0.05);
}

TEST(SlotWriting, decidesForEveryCollectiveOfItsOwn) {
  std::array<SlotWriting, 2> ranks;
  Machine reducing(5'000, 12'000);
  Machine gathering(9'000, 3'000);
  for (int i = 0; i < 2'000; ++i) {
    reducing.run(ranks, 1);
    gathering.run(ranks, 1, kBytes, Collective::AllGather);
  }
  EXPECT_LT(reducing.run(ranks, 1'000), 0.05);
  EXPECT_GT(gathering.run(ranks, 1'000, kBytes, Collective::AllGather), 0.95);
}

}  // namespace
}  // namespace jccl
