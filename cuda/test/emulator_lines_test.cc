// Tests of LL128 lines in the emulator: whole if the warp is converged, torn if it is not, or if splitLines is set.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator::emulator_lines_test {
namespace {

using simt::kFullMask;
using simt::Vec16;

constexpr int kSeeds = 400;
constexpr int kRounds = 4;

// The four lines that a warp writes at once.
struct alignas(128) Lines {
  std::array<Vec16, 32> parts{};
};

struct Seen {
  int torn = 0;        // runs in which a line with the right flag had other data
  uint64_t apart = 0;  // calls of storeLine and loadLine whose lines came apart
};

// One warp writes lines in rounds: every word of a line is the number of the round, and the last word is the flag.
// Another warp reads as LL128 does: it polls until all flags have arrived, then loads the lines again and uses these.
Seen exchange(const Options& base, const std::function<void(unsigned round)>& beforeStore,
              const std::function<void(unsigned round)>& beforeLoad, unsigned threads = 32) {
  Seen seen;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::array<Lines, kRounds> slots{};
    bool torn = false;
    Options options = base;
    options.seed = static_cast<uint64_t>(seed);
    Machine machine(options);
    machine.launch(1, threads, [&] {
      for (unsigned round = 0; round < kRounds; ++round) {
        simt::syncWarp();
        beforeStore(round);
        simt::storeLine(&slots[round].parts[simt::laneIndex()], {round + 1, round + 1}, kFullMask);
      }
    });
    machine.launch(1, threads, [&] {
      for (unsigned round = 0; round < kRounds; ++round) {
        const bool flagLane = simt::laneIndex() % 8 == 7;
        Vec16 part;
        for (;;) {
          simt::syncWarp();
          beforeLoad(round);
          part = simt::loadLine(&slots[round].parts[simt::laneIndex()], kFullMask);
          if (simt::all(kFullMask, !flagLane || part.high == round + 1)) break;
          simt::pause();
        }
        simt::syncWarp();
        beforeLoad(round);
        part = simt::loadLine(&slots[round].parts[simt::laneIndex()], kFullMask);
        torn |= part.low != round + 1 || part.high != round + 1;
      }
    });
    const Report report = machine.run();
    EXPECT_TRUE(report.finished()) << report.text;
    if (!report.finished()) break;
    seen.torn += torn ? 1 : 0;
    seen.apart += report.tornLines;
  }
  return seen;
}

const Options kWeak{.memory = Memory::Weak, .schedule = Schedule::BySeed};
const Options kStrong{.memory = Memory::Strong, .schedule = Schedule::BySeed};
const auto kNothing = [](unsigned) {};

TEST(EmulatorLines, ConvergedWarpsMoveWholeLines) {
  for (const Options& options : {kWeak, kStrong}) {
    const Seen seen = exchange(options, kNothing, kNothing);
    EXPECT_EQ(seen.torn, 0);
    EXPECT_EQ(seen.apart, 0u);
  }
}

TEST(EmulatorLines, LinesComeApartIfSplitLinesIsSet) {
  for (Options options : {kWeak, kStrong}) {
    options.splitLines = true;
    const Seen seen = exchange(options, kNothing, kNothing);
    EXPECT_GT(seen.torn, 0);
    EXPECT_GT(seen.apart, 0u);
  }
}

// Lanes that pause different numbers of times diverge.
TEST(EmulatorLines, StoresOfADivergedWarpComeApart) {
  const auto diverge = [](unsigned round) {
    for (unsigned i = 0; i < (simt::laneIndex() + round) % 3; ++i) simt::pause();
  };
  for (const Options& options : {kWeak, kStrong}) EXPECT_GT(exchange(options, diverge, kNothing).torn, 0);
}

TEST(EmulatorLines, LoadsOfADivergedWarpComeApart) {
  const auto diverge = [](unsigned) {
    if (simt::laneIndex() % 2 == 0) simt::nanos();
  };
  EXPECT_GT(exchange(kWeak, kNothing, diverge).torn, 0);
}

TEST(EmulatorLines, ALaneThatLoadsAloneDiverges) {
  uint64_t word = 0;
  const auto diverge = [&](unsigned) {
    if (simt::laneIndex() == 5) simt::loadUser<8>(&word);
  };
  EXPECT_GT(exchange(kWeak, diverge, kNothing).torn, 0);
}

TEST(EmulatorLines, SyncWarpConvergesADivergedWarp) {
  const auto mended = [](unsigned round) {
    for (unsigned i = 0; i < (simt::laneIndex() + round) % 3; ++i) simt::pause();
    simt::syncWarp();
  };
  for (const Options& options : {kWeak, kStrong}) {
    const Seen seen = exchange(options, mended, mended);
    EXPECT_EQ(seen.torn, 0);
    EXPECT_EQ(seen.apart, 0u);
  }
}

// Lanes that make the same calls stay converged; votes and shuffles converge them.
TEST(EmulatorLines, CommonPathsStayConverged) {
  std::array<uint64_t, 64> data{};
  const auto common = [&](unsigned round) {
    simt::shuffle(kFullMask, round, 0);
    simt::storeUser<8>(&data[simt::laneIndex()], simt::loadUser<8>(&data[32 + simt::laneIndex()]) + round);
    simt::pause();
  };
  const Seen seen = exchange(kWeak, common, kNothing);
  EXPECT_EQ(seen.torn, 0);
  EXPECT_EQ(seen.apart, 0u);
}

// Each half of the warp is a converged group.
TEST(EmulatorLines, HalvesOfAWarpMoveTheirOwnLines) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    Lines lines;
    Options options = kWeak;
    options.seed = static_cast<uint64_t>(seed);
    Machine machine(options);
    machine.launch(1, 32, [&] {
      const unsigned lane = simt::laneIndex();
      const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
      if (lane < 16) simt::pause();
      simt::syncWarp(half);
      simt::storeLine(&lines.parts[lane], {lane, lane}, half);
    });
    const Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    ASSERT_EQ(report.tornLines, 0u);
    for (unsigned i = 0; i < 32; ++i) ASSERT_EQ(lines.parts[i].low, i);
  }
}

}  // namespace
}  // namespace jccl::emulator::emulator_lines_test
