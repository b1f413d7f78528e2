// Tests of the emulator's scheduler: equal seeds lead to equal runs, different seeds to different runs, and unfair
// schedules starve threads.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator::emulator_schedule_test {
namespace {

constexpr Schedule kSchedules[] = {Schedule::RoundRobin, Schedule::Random, Schedule::Bursty, Schedule::Starving};

struct Trace {
  std::vector<uint32_t> order;  // numbers of threads, in the order in which they ran
  uint64_t steps = 0, switches = 0, nanos = 0;
  bool operator<(const Trace& other) const { return order < other.order; }
  bool operator==(const Trace& other) const {
    return order == other.order && steps == other.steps && switches == other.switches && nanos == other.nanos;
  }
};

// Runs two launches. Their threads record the order in which they run, and wait for the other launch in each round.
Trace play(const Options& options) {
  Trace run;
  std::vector<uint64_t> flags(2, 0);
  Machine machine(options);
  for (unsigned rank = 0; rank < 2; ++rank) {
    machine.launch(2, 64, [&, rank] {
      for (uint64_t round = 1; round <= 3; ++round) {
        run.order.push_back(rank * 1000 + simt::blockIndex() * 100 + simt::threadIndex());
        simt::syncBlock();
        if (simt::blockIndex() == 0 && simt::threadIndex() == 0) simt::storeRelease(&flags[rank], round);
        while (simt::loadAcquire(&flags[1 - rank]) < round) simt::pause();
        simt::syncWarp();
      }
    });
  }
  const Report report = machine.run();
  EXPECT_TRUE(report.finished()) << report.text;
  run.steps = report.steps;
  run.switches = report.switches;
  run.nanos = report.nanos;
  return run;
}

TEST(EmulatorSchedule, TheSameSeedGivesTheSameRun) {
  for (const Memory memory : {Memory::Strong, Memory::Weak}) {
    for (const Schedule schedule : kSchedules) {
      for (uint64_t seed = 0; seed < 10; ++seed) {
        const Options options{.memory = memory, .schedule = schedule, .seed = seed};
        EXPECT_EQ(play(options), play(options)) << "schedule " << static_cast<int>(schedule) << " seed " << seed;
      }
    }
  }
}

TEST(EmulatorSchedule, OtherSeedsGiveOtherRuns) {
  for (const Schedule schedule : {Schedule::Random, Schedule::Bursty, Schedule::Starving}) {
    std::set<Trace> runs;
    for (uint64_t seed = 0; seed < 20; ++seed) runs.insert(play({.schedule = schedule, .seed = seed}));
    EXPECT_EQ(runs.size(), 20u) << static_cast<int>(schedule);
  }
}

// A thread is starved if another one finishes its work before all threads have begun.
TEST(EmulatorSchedule, UnfairSchedulesStarveAThread) {
  for (const Schedule schedule : {Schedule::Random, Schedule::Bursty, Schedule::Starving}) {
    bool starved = false;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      int begun = 0;
      Machine machine({.schedule = schedule, .seed = seed});
      machine.launch(8, 32, [&] {
        ++begun;
        uint64_t own = 0;
        for (int i = 0; i < 200; ++i) simt::storeRelaxed(&own, simt::loadRelaxed(&own) + 1);
        starved |= begun < 8 * 32;
      });
      ASSERT_TRUE(machine.run().finished());
    }
    EXPECT_TRUE(starved) << static_cast<int>(schedule);
  }
}

TEST(EmulatorSchedule, AHostThreadMayLaunch) {
  uint64_t done = 0;
  Machine machine;
  machine.launch(1, 1, [&] {
    const int first = machine.launch(1, 32, [&] {
      if (simt::threadIndex() == 3) simt::storeRelease(&done, 1);
    });
    machine.launch(
        1, 32,
        [&] {
          if (simt::threadIndex() == 3) simt::storeRelease(&done, simt::loadAcquire(&done) + 1);
        },
        "", first);
    while (simt::loadAcquire(&done) != 2) simt::pause();
  });
  const Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  EXPECT_EQ(done, 2u);
}

TEST(EmulatorSchedule, AMachineRunsSeveralTimes) {
  uint64_t count = 0;
  for (const Memory memory : {Memory::Strong, Memory::Weak}) {
    count = 0;
    Machine machine({.memory = memory});
    for (uint64_t round = 1; round <= 5; ++round) {
      machine.launch(1, 64, [&] {
        if (simt::threadIndex() == 33) simt::storeRelaxed(&count, simt::loadRelaxed(&count) + 1);
      });
      ASSERT_TRUE(machine.run().finished());
      EXPECT_EQ(count, round);
    }
  }
}

}  // namespace
}  // namespace jccl::emulator::emulator_schedule_test
