// SlotWriting with made-up times: it must find the faster way, stay with it, and notice when that changes.
#include "engine/slot_writing.h"

#include <gtest/gtest.h>

namespace jccl {
namespace {

constexpr size_t kBytes = 1 << 20;

// A machine on which both ways take a fixed time.
class Machine {
 public:
  Machine(int64_t cachedNanos, int64_t streamedNanos) : nanos_{cachedNanos, streamedNanos} {}

  void become(int64_t cachedNanos, int64_t streamedNanos) {
    nanos_[0] = cachedNanos;
    nanos_[1] = streamedNanos;
  }

  // Runs operations for so long; returns the share of time spent in streamed ones.
  double run(SlotWriting& writing, int64_t forNanos, size_t bytes = kBytes) {
    const int64_t end = now_ + forNanos;
    int64_t streamedNanos = 0;
    while (now_ < end) {
      const int64_t start = now_;
      const bool streamed = writing.streams(bytes, start);
      now_ += nanos_[streamed] + (++operations_ % 7 == 0 ? nanos_[streamed] * 20 : 0);  // now and then a peer is late
      if (streamed) streamedNanos += now_ - start;
      writing.took(bytes, streamed, start, now_);
    }
    return static_cast<double>(streamedNanos) / static_cast<double>(forNanos);
  }

 private:
  int64_t nanos_[2];
  int64_t now_ = 1'000'000;
  int64_t operations_ = 0;
};

TEST(SlotWriting, staysInTheCacheWhereThatIsFaster) {
  SlotWriting writing;
  Machine machine(60'000, 140'000);
  machine.run(writing, 20'000'000);
  EXPECT_LT(machine.run(writing, 1'000'000'000), 0.1);
}

TEST(SlotWriting, writesPastTheCacheWhereThatIsFaster) {
  SlotWriting writing;
  Machine machine(640'000, 120'000);
  machine.run(writing, 100'000'000);
  EXPECT_GT(machine.run(writing, 1'000'000'000), 0.9);
}

TEST(SlotWriting, followsTheRanksToOtherCores) {
  SlotWriting writing;
  Machine machine(60'000, 140'000);
  machine.run(writing, 500'000'000);
  machine.become(640'000, 120'000);
  machine.run(writing, 500'000'000);
  EXPECT_GT(machine.run(writing, 1'000'000'000), 0.9);
  machine.become(60'000, 140'000);
  machine.run(writing, 500'000'000);
  EXPECT_LT(machine.run(writing, 1'000'000'000), 0.1);
}

TEST(SlotWriting, decidesForEverySizeOfItsOwn) {
  SlotWriting writing;
  Machine small(5'000, 12'000);
  Machine large(9'000'000, 3'000'000);
  small.run(writing, 100'000'000, 64 << 10);
  large.run(writing, 2'000'000'000, 64 << 20);
  EXPECT_LT(small.run(writing, 100'000'000, 64 << 10), 0.1);
  EXPECT_GT(large.run(writing, 5'000'000'000, 64 << 20), 0.9);
}

}  // namespace
}  // namespace jccl
