// Tests of runs that do not finish: each ends with a report of what happened and where every thread is.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator::emulator_reports_test {
namespace {

using simt::kFullMask;
using simt::threadIndex;

Report runBlock(unsigned threads, std::function<void()> body, const Options& options = {}) {
  Machine machine(options);
  machine.launch(1, threads, std::move(body), "kernel");
  return machine.run();
}

void expectReport(const Report& report, Outcome outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(report.outcome, outcome) << report.text;
  for (const std::string& part : parts)
    EXPECT_NE(report.text.find(part), std::string::npos) << part << "\nin\n" << report.text;
}

TEST(EmulatorReports, ABarrierThatTooFewThreadsReachIsADeadlock) {
  const Report report = runBlock(96, [] {
    if (threadIndex() < 32) simt::syncThreads(2, 64);
  });
  expectReport(
      report, Outcome::Deadlock,
      {"every thread waits for others", "kernel, block 0, threads 0-31: wait at syncThreads(2, 64), 32 of 64 there",
       "threads 32-95: have left the kernel", "emulator_reports_test.cc:"});
}

TEST(EmulatorReports, PollingMemoryThatNoThreadWritesIsADeadlock) {
  uint64_t flag = 0;
  for (const Memory memory : {Memory::Strong, Memory::Weak}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Report report = runBlock(64,
                                     [&] {
                                       if (threadIndex() == 0) {
                                         while (simt::loadAcquire(&flag) == 0) simt::pause();
                                       }
                                       simt::syncBlock();
                                     },
                                     {.memory = memory, .schedule = Schedule::BySeed, .seed = seed});
      expectReport(report, Outcome::Deadlock,
                   {"nothing has changed in memory", "threads 0: wait in a loop, cuda/test/emulator_reports_test.cc:",
                    ", for what they load at cuda/test/emulator_reports_test.cc:",
                    "threads 1-63: wait at syncBlock, 63 of 64 there"});
    }
  }
}

TEST(EmulatorReports, EndlessWorkExceedsTheBudget) {
  uint64_t counter = 0;
  const Report report = runBlock(32,
                                 [&] {
                                   for (;;) simt::storeRelaxed(&counter, simt::loadRelaxed(&counter) + 1);
                                 },
                                 {.stepBudget = 1'000'000});
  expectReport(report, Outcome::StepBudget, {"more than stepBudget=1000000 steps", "threads"});
  EXPECT_GE(report.steps, 1'000'000u);
  EXPECT_LE(report.steps, 1'100'000u);
}

// A wait with a time limit ends by the virtual clock, long before the machine reports a deadlock.
TEST(EmulatorReports, BoundedWaitsTimeOut) {
  for (const Memory memory : {Memory::Strong, Memory::Weak}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      uint64_t flag = 0, timedOut = 0;
      const Report report = runBlock(64,
                                     [&] {
                                       if (threadIndex() == 0) {
                                         const uint64_t begin = simt::nanos();
                                         while (simt::loadAcquire(&flag) == 0 && simt::nanos() - begin < 30'000'000'000)
                                           simt::pause();
                                         simt::storeRelaxed(&timedOut, 1);
                                       }
                                       simt::syncBlock();
                                     },
                                     {.memory = memory, .schedule = Schedule::BySeed, .seed = seed});
      ASSERT_TRUE(report.finished()) << report.text;
      EXPECT_EQ(timedOut, 1u);
      EXPECT_GE(report.nanos, 30'000'000'000u);
    }
  }
}

// The clock is slow while any thread works, so that a wait does not time out because other threads take many steps.
TEST(EmulatorReports, TheClockIsSlowWhileAThreadWorks) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    uint64_t flag = 0;
    bool early = false;
    Machine machine({.schedule = Schedule::BySeed, .seed = seed});
    machine.launch(1, 32, [&] {
      uint64_t sum = threadIndex();
      for (int i = 0; i < 2000; ++i) sum += simt::shuffle(kFullMask, sum, i % 32);
      if (threadIndex() == 0) simt::storeRelease(&flag, sum | 1);
    });
    machine.launch(1, 1, [&] {
      const uint64_t begin = simt::nanos();
      while (simt::loadAcquire(&flag) == 0) {
        early |= simt::nanos() - begin > 1'000'000'000;
        simt::pause();
      }
    });
    const Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    EXPECT_FALSE(early);
  }
}

TEST(EmulatorReports, MisuseOfBarriersIsNamed) {
  expectReport(runBlock(96, [] { simt::syncThreads(1, threadIndex() < 32 ? 96 : 64); }), Outcome::Misuse,
               {"syncThreads(1, 64) while 32 threads wait at syncThreads(1, 96)"});
  expectReport(runBlock(64,
                        [] {
                          if (threadIndex() < 32) {
                            simt::syncThreads(1, 64);
                          } else {
                            simt::syncOr(1, 64, true);
                          }
                        }),
               Outcome::Misuse, {"syncOr(1, 64) while 32 threads wait at syncThreads(1, 64)"});
  expectReport(runBlock(64, [] { simt::syncThreads(0, 64); }), Outcome::Misuse, {"expected a barrier from 1 to 15"});
  expectReport(runBlock(64, [] { simt::syncThreads(16, 64); }), Outcome::Misuse, {"expected a barrier from 1 to 15"});
  expectReport(runBlock(64, [] { simt::syncThreads(1, 40); }), Outcome::Misuse, {"expected whole warps"});
  expectReport(runBlock(64, [] { simt::syncThreads(1, 96); }), Outcome::Misuse,
               {"no more threads than the block's 64"});
}

TEST(EmulatorReports, ThreadsThatLeaveWhileOthersWaitAreNamed) {
  expectReport(runBlock(64,
                        [] {
                          if (threadIndex() != 40) simt::syncBlock();
                        }),
               Outcome::Misuse, {"syncBlock", "leave"});
  expectReport(runBlock(32,
                        [] {
                          if (threadIndex() != 31) simt::syncWarp();
                        }),
               Outcome::Misuse, {"lane 31 leaves the kernel while lanes 0x7fffffff wait for it in syncWarp"});
  expectReport(runBlock(32,
                        [] {
                          if (threadIndex() != 0) simt::syncWarp();
                        }),
               Outcome::Misuse, {"syncWarp with mask 0xffffffff: lanes 0x00000001 have left the kernel"});
}

TEST(EmulatorReports, MisuseOfMasksIsNamed) {
  expectReport(runBlock(32, [] { simt::any(0x0000fffeu, true); }), Outcome::Misuse,
               {"any with mask 0x0000fffe by lane 0, which the mask does not name"});
  expectReport(runBlock(32, [] { simt::syncWarp(threadIndex() < 16 ? kFullMask : 0xffff0000u); }), Outcome::Misuse,
               {"while lanes", "wait in syncWarp with mask 0xffffffff"});
  expectReport(runBlock(32,
                        [] {
                          if (threadIndex() < 16) {
                            simt::any(kFullMask, true);
                          } else {
                            simt::all(kFullMask, true);
                          }
                        }),
               Outcome::Misuse, {"all with mask 0xffffffff while lanes 0x0000ffff wait in any"});
  expectReport(runBlock(16, [] { simt::syncWarp(0x00010001u); }), Outcome::Misuse,
               {"the warp has only lanes 0x0000ffff"});
  expectReport(runBlock(32, [] { simt::shuffle(kFullMask, 1, 32); }), Outcome::Misuse,
               {"asks for the value of lane 32"});
}

TEST(EmulatorReports, MisalignedAccessesAreNamed) {
  alignas(16) unsigned char bytes[64] = {};
  expectReport(runBlock(1, [&] { simt::loadPeer<8>(bytes + 4); }), Outcome::Misuse,
               {"an access of 8 bytes", "in loadPeer"});
  expectReport(runBlock(1, [&] { simt::storeUser<16>(bytes + 8, {}); }), Outcome::Misuse, {"an access of 16 bytes"});
  expectReport(runBlock(32, [&] { simt::storeLine(bytes + 8, {}, kFullMask); }), Outcome::Misuse, {"in storeLine"});
}

TEST(EmulatorReports, TwoLanesThatStoreToTheSamePlaceAreNamed) {
  for (const Memory memory : {Memory::Strong, Memory::Weak}) {
    alignas(128) unsigned char line[128] = {};
    expectReport(runBlock(32, [&] { simt::storeLine(line, {}, kFullMask); }, {.memory = memory}), Outcome::Misuse,
                 {"two lanes store to the same place"});
  }
}

TEST(EmulatorReports, ExceptionsOfKernelsAreNamed) {
  expectReport(runBlock(32, [] { throw std::runtime_error("out of luck"); }), Outcome::Misuse,
               {"the kernel has thrown: out of luck"});
}

TEST(EmulatorReports, LaunchesThatWaitForADeadlockedLaunchAreNamed) {
  uint64_t flag = 0;
  Machine machine;
  const int first = machine.launch(1, 1, [&] {
    while (simt::loadAcquire(&flag) == 0) simt::pause();
  });
  machine.launch(
      1, 1, [] {}, "second", first);
  expectReport(machine.run(), Outcome::Deadlock,
               {"launch 0, block 0, threads 0: wait in a loop", "second: waits for launch 0"});
  EXPECT_THROW(machine.launch(1, 1, [] {}), std::invalid_argument);
}

TEST(EmulatorReports, LaunchesAreChecked) {
  Machine machine;
  EXPECT_THROW(machine.launch(0, 32, [] {}), std::invalid_argument);
  EXPECT_THROW(machine.launch(1, 0, [] {}), std::invalid_argument);
  EXPECT_THROW(machine.launch(1, 1025, [] {}), std::invalid_argument);
  EXPECT_THROW(machine.launch(1, 1, nullptr), std::invalid_argument);
  EXPECT_THROW(machine.launch(
                   1, 1, [] {}, "", 0),
               std::invalid_argument);
}

}  // namespace
}  // namespace jccl::emulator::emulator_reports_test
