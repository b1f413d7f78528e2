// Tests that the abort word and the deadline soon end every thread of a waiting kernel, for all families of kernels and
// all kinds of waits. The progress records must say where the kernel waited, and slots and outputs must contain no
// wrong data.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <tuple>

#include "cuda/test/staged_operation.h"

namespace jccl::test::abort_test {
namespace {

constexpr uint64_t kDeadlineNanos = 4'000'000;
// A waiting thread reads the clock and the abort word within a hundred rounds of its loop. A round makes a few calls,
// and between two calls each other thread may run once, for 10 ns. The scheduler may also hold a thread back for a
// while.
constexpr uint64_t kMaxNanosPerThread = 10'000;
constexpr uint64_t kMaxNanosHeldBack = 2'000'000;

// Slots so small that senders run out of credit.
const ConnectionShape kShape(1024, 1024, 1024);

// A failure: one rank, the victim, never starts or is aborted during its work. The others wait until they are aborted
// or their deadline passes.
struct Trial {
  int ranks;
  int channels;
  unsigned threads;
  size_t count;
  int victim;
  bool absent;
  bool byDeadline;
  uint64_t victimAt;
  uint64_t othersAt;
  emulator::Options options;
};

Trial trialOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  Trial trial{};
  trial.ranks = 2 + static_cast<int>(random() % 3);
  trial.channels = 1 + static_cast<int>(random() % 2);
  trial.threads = random() % 3 == 0 ? 128 : random() % 2 == 0 ? 64 : 32;
  // The count leads either to so few steps that each slot is used at most once, or to so many that senders run out of
  // credit.
  trial.count = random() % 2 == 0 ? 150 : 6000;
  trial.victim = static_cast<int>(random() % trial.ranks);
  trial.absent = random() % 3 == 0;
  trial.byDeadline = random() % 3 == 0;
  trial.victimAt = random() % (uint64_t{1} << (8 + random() % 11));
  trial.othersAt = trial.victimAt + 100'000 + random() % 3'000'000;
  trial.options.memory = random() % 2 == 0 ? emulator::Memory::Weak : emulator::Memory::Strong;
  trial.options.schedule = emulator::Schedule::BySeed;
  trial.options.seed = seed;
  return trial;
}

// Runs the trial. Sets `took` to the time in ns between the abort or the deadline and the end of all threads.
emulator::Report run(const Trial& trial, StagedOperation& staged, uint64_t& took) {
  emulator::Machine machine(trial.options);
  int running = 0;
  for (int rank = 0; rank < trial.ranks; ++rank) {
    if (trial.absent && rank == trial.victim) continue;
    running += static_cast<int>(trial.threads) * trial.channels;
    staged.launch(machine, rank, trial.threads, [&running] { --running; });
  }
  const auto abort = [&](int rank) {
    const ChannelControls controls = staged.ranks.controls(rank);
    for (int channel = 0; channel < controls.channels; ++channel) {
      simt::storeRelaxed(&controls.words[channel].abort, static_cast<uint32_t>(Code::Aborted));
    }
  };
  uint64_t rounds = 0;
  machine.launch(
      1, 1,
      [&] {
        const uint64_t start = simt::nanos();
        const auto waitUntil = [&](uint64_t time) {
          while (simt::nanos() - start < time) simt::pause();
        };
        if (!trial.absent) {
          waitUntil(trial.victimAt);
          abort(trial.victim);
        }
        waitUntil(trial.byDeadline ? kDeadlineNanos : trial.othersAt);
        if (!trial.byDeadline) {
          for (int rank = 0; rank < trial.ranks; ++rank) abort(rank);
        }
        const uint64_t from = simt::nanos();
        // Changes memory in each round, so that the clock does not leap.
        while (running > 0) {
          simt::storeRelaxed(&rounds, rounds + 1);
          simt::pause();
        }
        took = simt::nanos() - from;
      },
      "host");
  return machine.run();
}

using Place = std::tuple<WaitFor, Protocol>;

// Summary of the progress records of ranks whose operation failed.
struct Summary {
  std::set<Place> places;
  int channels = 0;
  int silent = 0;   // channels that ended without a record: they began after the failure
  int unbegun = 0;  // ranks whose kernel began after the abort
};

void readRecords(const Trial& trial, StagedOperation& staged, int rank, Code code, const Job& job, Summary& summary) {
  int here = 0, silent = 0;
  for (int c = 0; c < trial.channels; ++c) {
    if (staged.ranks.channel(rank, c).operations != 0) continue;  // this channel was done before the failure
    const device::ProgressRecord& record = staged.ranks.record(rank, c);
    if (record.sequence == 0) {
      ++silent;
      continue;
    }
    ++here;
    const WaitPlace place = device::ProgressRecord::decode(record.place);
    EXPECT_EQ(record.sequence, staged.ranks.launchOf(rank).control.sequence + 1);
    EXPECT_EQ(place.protocol, job.protocol);
    EXPECT_EQ(place.transport, TransportKind::P2p);
    EXPECT_TRUE(place.peer >= 0 && place.peer < trial.ranks && place.peer != rank) << place.peer;
    summary.places.emplace(place.waitFor, place.protocol);
  }
  if (here == 0 && code == Code::Aborted) {
    ++summary.unbegun;
    return;
  }
  EXPECT_GT(here, 0) << "no channel of rank " << rank << " says where it waited";
  summary.channels += here + silent;
  summary.silent += silent;
}

// Expects that every word of a slot is either zero or equal to its final value in `whole`, and that published slots are
// complete. The trial must use no slot twice.
void expectSlotsIntact(const DeviceRanks& found, const DeviceRanks& whole, int channels) {
  const ConnectionShape& shape = found.shape();
  for (int rank = 0; rank < found.size(); ++rank) {
    for (int peer = 0; peer < found.size(); ++peer) {
      for (int c = 0; c < channels && peer != rank; ++c) {
        const uint8_t* a = found.block(rank, peer, c);
        const uint8_t* b = whole.block(rank, peer, c);
        const auto word = [](const uint8_t* from) {
          uint64_t value;
          std::memcpy(&value, from, sizeof value);
          return value;
        };
        ASSERT_LE(word(a), word(b)) << "head";
        ASSERT_LE(word(b), kSlots) << "the test means to use no slot twice";
        for (size_t at = 8; at < shape.simpleOffset(); at += 8) {
          ASSERT_TRUE(word(a + at) == 0 || word(a + at) == word(b + at)) << "at=" << at;
        }
        for (size_t at = shape.simpleOffset(); at < shape.blockBytes(); ++at) {
          ASSERT_TRUE(a[at] == 0 || a[at] == b[at]) << "at=" << at;
        }
        for (uint64_t step = 0; step < kSlots; ++step) {
          for (size_t line = 0; line < shape.ll128SlotBytes(); line += kLL128LineBytes) {
            const size_t at = shape.ll128Slot(step) + line;
            ASSERT_TRUE(word(a + at + 120) == 0 || std::memcmp(a + at, b + at, kLL128LineBytes) == 0)
                << "line at=" << at;
          }
          const size_t header = shape.slotHeader(step);
          ASSERT_TRUE(word(a + header) == 0 || std::memcmp(a + header, b + header, shape.simpleStride()) == 0)
              << "published slot " << step;
        }
      }
    }
  }
}

void expectPlaces(const Job& job, const std::set<Place>& places) {
  if (job.family == KernelFamily::InPlace) {
    EXPECT_EQ(places, (std::set<Place>{{WaitFor::BufferExchange, Protocol::Simple}}));
    return;
  }
  EXPECT_TRUE(places.contains({WaitFor::Data, job.protocol}));
  // In other collectives, ranks wait for data as often as they send, so they run out of credit only by chance.
  const bool unidirectional = job.collective == Collective::Reduce || job.collective == Collective::Broadcast;
  if (unidirectional || job.family == KernelFamily::Exchange) {
    EXPECT_TRUE(places.contains({WaitFor::Credit, job.protocol}));
  }
  for (const auto& [waitFor, protocol] : places) {
    EXPECT_TRUE(waitFor == WaitFor::Data || waitFor == WaitFor::Credit);
  }
}

class AbortedKernels : public ::testing::TestWithParam<Job> {};

TEST_P(AbortedKernels, EndSoonWhereverTheyWait) {
  constexpr uint64_t kSeeds = 40;
  const Job& job = GetParam();
  Summary summary;
  int failed = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Trial trial = trialOf(seed);
    SCOPED_TRACE("seed=" + std::to_string(seed));
    StagedOperation staged(job, trial.ranks, trial.channels, trial.count, kShape,
                           trial.byDeadline ? kDeadlineNanos : 0);
    uint64_t took = 0;
    const emulator::Report report = run(trial, staged, took);
    ASSERT_TRUE(report.finished()) << report.text;
    EXPECT_LT(took, kMaxNanosHeldBack + kMaxNanosPerThread * trial.ranks * trial.channels * trial.threads);
    for (int rank = 0; rank < trial.ranks; ++rank) {
      if (trial.absent && rank == trial.victim) continue;
      const Code code = staged.ranks.result(rank);
      EXPECT_EQ(staged.wrong(rank, code != Code::Ok), 0u) << "rank=" << rank << " code=" << static_cast<int>(code);
      if (code == Code::Ok) continue;
      ++failed;
      const bool aborted = !trial.byDeadline || rank == trial.victim;
      EXPECT_TRUE(code == Code::Aborted ? aborted : code == Code::Timeout && trial.byDeadline)
          << static_cast<int>(code);
      readRecords(trial, staged, rank, code, job, summary);
    }
    // Slots of messages that receivers read have the addresses of this trial's buffers.
    if (trial.count < 1000 && !job.reads) {
      StagedOperation whole(job, trial.ranks, trial.channels, trial.count, kShape);
      emulator::Machine machine;
      for (int rank = 0; rank < trial.ranks; ++rank) whole.launch(machine, rank, 64);
      const emulator::Report all = machine.run();
      ASSERT_TRUE(all.finished()) << all.text;
      for (int rank = 0; rank < trial.ranks; ++rank) ASSERT_EQ(whole.wrong(rank), 0u);
      expectSlotsIntact(staged.ranks, whole.ranks, trial.channels);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(failed, static_cast<int>(kSeeds) / 2);
  EXPECT_LE(summary.silent * 10, summary.channels);
  EXPECT_LE(summary.unbegun * 4, failed);
  expectPlaces(job, summary.places);
}

INSTANTIATE_TEST_SUITE_P(All, AbortedKernels, ::testing::ValuesIn(allJobs()),
                         [](const ::testing::TestParamInfo<Job>& info) { return info.param.name(); });

}  // namespace
}  // namespace jccl::test::abort_test
