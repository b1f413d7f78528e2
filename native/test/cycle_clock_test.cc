// Compares the cycle counter with the kernel's clock.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/cycle_clock.h"

namespace jccl::test::cycle_clock_test {

TEST(CycleClock, ConvertsTimesThatHavePassed) {
  constexpr int kTimes = 50;
  int64_t before[kTimes], ticks[kTimes], after[kTimes];
  for (int i = 0; i < kTimes; ++i) {
    before[i] = monotonicNanos();
    ticks[i] = CycleClock::ticks();
    after[i] = monotonicNanos();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const CycleClock::Converter clock;
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_GE(clock.nanos(ticks[i]), before[i] - 2'000) << i;
    EXPECT_LE(clock.nanos(ticks[i]), after[i] + 2'000) << i;
  }
  const int64_t took = CycleClock::durationNanos(ticks[kTimes - 1] - ticks[0]);
  EXPECT_GE(took, before[kTimes - 1] - after[0] - 2'000);
  EXPECT_LE(took, after[kTimes - 1] - before[0] + 2'000);
}

TEST(CycleClock, CountsAlikeOnAllCores) {
  int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    int64_t there = 0;
    std::thread([&] { there = CycleClock::ticks(); }).join();
    const int64_t here = CycleClock::ticks();
    EXPECT_GT(there, last);
    EXPECT_GE(here, there);
    last = here;
  }
}

}  // namespace jccl::test::cycle_clock_test
