// Tests of the emulator's threads: their indices, shuffles and barriers.
#include <gtest/gtest.h>

#include <vector>

#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator::emulator_meetings_test {
namespace {

TEST(EmulatorMeetings, EveryThreadOfTheGridRunsOnce) {
  std::vector<uint32_t> runs(3 * 96, 0);
  Machine machine;
  machine.launch(3, 96, [&] {
    uint32_t* mine = &runs[simt::blockIndex() * simt::blockThreads() + simt::threadIndex()];
    simt::storeRelaxed(mine, simt::loadRelaxed(mine) + 1);
    EXPECT_EQ(simt::laneIndex(), simt::threadIndex() % 32);
  });
  const Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  EXPECT_EQ(runs, std::vector<uint32_t>(3 * 96, 1));
}

JCCL_DEVICE uint64_t sumOfBlock(uint64_t value) {
  JCCL_SHARED(uint64_t[32], partial);
  for (unsigned distance = 16; distance != 0; distance /= 2) {
    value += simt::shuffle(simt::kFullMask, value, static_cast<int>(simt::laneIndex() ^ distance));
  }
  if (simt::laneIndex() == 0) partial[simt::threadIndex() / 32] = value;
  simt::syncBlock();
  uint64_t sum = 0;
  for (unsigned i = 0; i < simt::blockThreads() / 32; ++i) sum += partial[i];
  return sum;
}

TEST(EmulatorMeetings, ShufflesAndBarriersSumOverABlock) {
  for (const Schedule schedule : {Schedule::RoundRobin, Schedule::Random, Schedule::Bursty, Schedule::Starving}) {
    std::vector<uint64_t> sums(2 * 128);
    Machine machine({.schedule = schedule, .seed = 7});
    machine.launch(2, 128, [&] {
      const uint64_t sum = sumOfBlock(simt::threadIndex() + 1000 * simt::blockIndex());
      simt::storeRelaxed(&sums[simt::blockIndex() * 128 + simt::threadIndex()], sum);
    });
    const Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    EXPECT_EQ(sums[0], 127u * 64);
    EXPECT_EQ(sums[255], 127u * 64 + 128'000);
  }
}

}  // namespace
}  // namespace jccl::emulator::emulator_meetings_test
