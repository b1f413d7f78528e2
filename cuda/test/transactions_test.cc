// Compares the memory accesses of operations, which the emulator counts, with the upper bounds in transactions.txt. The
// file also contains the least possible figures. JCCL_RECORD_TRANSACTIONS=1 rewrites it.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include "cuda/test/staged_operation.h"

namespace jccl::test::transactions_test {
namespace {

using emulator::Accesses;
using emulator::Place;
using emulator::Transactions;

constexpr int kRanks = 4;
constexpr int kChannels = 2;
constexpr unsigned kThreads = 128;
constexpr size_t kSmallBytes = 1024, kLargeBytes = 256 * 1024;

// Columns of the file: sums over all ranks, except `rounds`, which is a maximum.
constexpr const char* kColumns[] = {"wire",   "wire-min", "local",  "local-min", "data",     "words",
                                    "fences", "rounds",   "host-r", "host-w",    "polls-max"};
constexpr size_t kColumnCount = std::size(kColumns);
constexpr size_t kPolls = kColumnCount - 1;
using Row = std::array<uint64_t, kColumnCount>;

struct CountedCase {
  Job job;
  size_t bytes;

  std::string name() const {
    std::string text = job.name();
    if (job.type != DataType::Int32) text += std::string("_") + nameOf(job.type);
    if (job.skew > 0) text += "_skew" + std::to_string(job.skew);
    return text + " " + std::to_string(bytes);
  }
};

std::vector<CountedCase> countedCases() {
  std::vector<CountedCase> cases;
  for (Job job : allJobs()) {
    if (job.parts || job.overwrites) continue;
    job.skew = 0;
    for (const size_t bytes : {kSmallBytes, kLargeBytes}) cases.push_back({job, bytes});
    const bool typical = job.collective == Collective::AllReduce || job.family == KernelFamily::Exchange;
    if (!typical) continue;
    for (const int skew : {4, 1}) {
      job.skew = skew;
      cases.push_back({job, kLargeBytes});
    }
    job.skew = 0;
    job.type = DataType::Float16;
    if (job.family != KernelFamily::Exchange) cases.push_back({job, kLargeBytes});
  }
  return cases;
}

// Computes the least possible numbers of bytes. `wire`: payload that crosses between ranks. `local`: bytes read and
// written in a rank's own memory, that is, inputs, outputs and, if data goes through slots, the slots. Inputs that only
// peers read are not local.
void leastOf(const CountedCase& c, uint64_t& wire, uint64_t& local) {
  const uint64_t n = kRanks, b = c.bytes;
  uint64_t buffers = 2 * n * b;
  switch (c.job.collective) {
    case Collective::AllReduce:
      wire = c.job.algorithm == Algorithm::Direct && !c.job.twoShot ? n * (n - 1) * b : 2 * (n - 1) * b;
      break;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      wire = n * (n - 1) * b;
      buffers = n * b + n * n * b;
      break;
    case Collective::AllToAll:
      wire = n * (n - 1) * b;
      buffers = 2 * n * n * b;
      break;
    case Collective::Broadcast:
      wire = (n - 1) * b;
      buffers = n * b;
      break;
    default:  // reduce
      wire = (n - 1) * b;
      buffers = (n + 1) * b;
  }
  local = c.job.family == KernelFamily::InPlace ? 2 * n * b : c.job.reads ? buffers - wire : buffers + wire;
}

uint64_t both(const Transactions& t, Place place, uint64_t (Accesses::*figure)() const) {
  return (t[place].loads.*figure)() + (t[place].stores.*figure)();
}

Row rowOf(const CountedCase& c) {
  StagedOperation staged(c.job, kRanks, kChannels, c.bytes / sizeof(int32_t),
                         ConnectionShape(256 * 1024, 16 * 1024, 32 * 1024));
  const emulator::MemoryPlaces places = staged.places();
  emulator::Options options;
  options.places = &places;
  emulator::Machine machine(options);
  for (int rank = 0; rank < kRanks; ++rank) staged.launch(machine, rank, kThreads);
  const emulator::Report report = machine.run();
  EXPECT_TRUE(report.finished()) << report.text;
  for (int rank = 0; rank < kRanks && c.job.type == DataType::Int32; ++rank) EXPECT_EQ(staged.wrong(rank), 0u);
  Transactions all;
  for (const Transactions& one : report.transactions) all.add(one);
  uint64_t wire = 0, local = 0;
  leastOf(c, wire, local);
  const uint64_t words = all[Place::Local].words + all[Place::Peer].words;
  const uint64_t data = both(all, Place::Local, &Accesses::count) + both(all, Place::Peer, &Accesses::count) - words;
  return {both(all, Place::Peer, &Accesses::bytes),
          wire,
          both(all, Place::Local, &Accesses::bytes),
          local,
          data,
          words,
          all.fences,
          all.rounds,
          all[Place::Host].loads.count(),
          all[Place::Host].stores.count(),
          all.polls};
}

std::map<std::string, Row> recorded() {
  std::map<std::string, Row> rows;
  std::ifstream file(JCCL_TRANSACTIONS);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, bytes;
    words >> name >> bytes;
    Row& row = rows[name + " " + bytes];
    for (uint64_t& figure : row) words >> figure;
    EXPECT_TRUE(words) << line;
  }
  return rows;
}

void record(const std::vector<std::pair<std::string, Row>>& rows) {
  std::ofstream file(JCCL_TRANSACTIONS);
  file << "# Memory accesses of operations: sums over " << kRanks << " ranks on " << kRanks << " GPUs, with "
       << kChannels << " channels of " << kThreads
       << " threads. To rewrite this file, run\n"
          "# JCCL_RECORD_TRANSACTIONS=1 jccl_cuda_emulated_test --gtest_filter='Transactions.*'. The figures are "
          "upper bounds.\n"
          "#   wire, local         bytes read and written in other GPUs' memory, and in a rank's own; -min: the "
          "least possible\n"
          "#   data                accesses of threads to payload, flags and headers\n"
          "#   words               relaxed, acquire and release accesses, which have the scope of the system\n"
          "#   rounds              number of times that a thread waits for memory; the maximum of all threads\n"
          "#   host-r, host-w      accesses to memory of the host, over PCIe\n"
          "#   polls-max           iterations of loops that wait\n"
          "# operation bytes";
  for (const char* column : kColumns) file << " " << column;
  file << "\n";
  for (const auto& [name, row] : rows) {
    const size_t space = name.find(' ');
    file << std::left << std::setw(44) << name.substr(0, space) << std::right << std::setw(7) << name.substr(space + 1);
    for (size_t i = 0; i < row.size(); ++i) file << std::setw(i == kPolls ? 8 : i < 6 ? 9 : 6) << row[i];
    file << "\n";
  }
}

TEST(Transactions, AreCountedByPlaceWidthAndOrder) {
  alignas(16) uint64_t own[4] = {}, peers[4] = {}, hosts[2] = {};
  emulator::MemoryPlaces places;
  places.add(own, sizeof own, 0);
  places.add(peers, sizeof peers, 1);
  places.add(hosts, sizeof hosts, emulator::MemoryPlaces::kHost);
  emulator::Options options;
  options.places = &places;
  emulator::Machine machine(options);
  machine.launch(1, 1, [&] {
    const simt::Vec16 a = simt::loadPeer<16>(own), b = simt::loadPeer<16>(own + 2);
    simt::storePeer<8>(peers, a.low);
    simt::storePeer<1>(peers + 1, static_cast<uint8_t>(b.low));
    simt::fence();
    simt::storeRelaxed(peers + 2, uint64_t{1});
    (void)simt::loadRelaxed(hosts);
    while (simt::loadAcquire(own + 3) != 7) simt::pause();
  });
  machine.launch(1, 1, [&] {
    while (simt::loadAcquire(peers + 2) != 1) simt::pause();
    for (int i = 0; i < 3; ++i) simt::pause();
    simt::storeRelease(own + 3, uint64_t{7});
  });
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  const Transactions& first = report.transactions[0];
  EXPECT_EQ(first[Place::Local].loads.bytes(), 40u);
  EXPECT_EQ(first[Place::Local].loads.byWidth[4], 2u);
  EXPECT_EQ(first[Place::Local].words, 1u);
  EXPECT_EQ(first[Place::Local].polled, first.polls);
  EXPECT_GE(first.polls, 1u);
  EXPECT_EQ(first[Place::Peer].stores.count(), 3u);
  EXPECT_EQ(first[Place::Peer].stores.bytes(), 17u);
  EXPECT_EQ(first[Place::Peer].words, 1u);
  EXPECT_EQ(first[Place::Host].loads.count(), 1u);
  EXPECT_EQ(first.fences, 1u);
  EXPECT_EQ(first.rounds, 3u);
  EXPECT_EQ(report.transactions[1][Place::Peer].stores.count(), 1u);
}

TEST(Transactions, AreNoMoreThanRecorded) {
  const bool records = std::getenv("JCCL_RECORD_TRANSACTIONS") != nullptr;
  const std::map<std::string, Row> limits = recorded();
  std::vector<std::pair<std::string, Row>> rows;
  for (const CountedCase& c : countedCases()) {
    Row& row = rows.emplace_back(c.name(), rowOf(c)).second;
    if (HasFatalFailure()) return;
    EXPECT_GE(row[0], row[1]) << c.name() << ": fewer bytes cross than have to";
    EXPECT_GE(row[2], row[3]) << c.name() << ": fewer bytes move than have to";
    if (records) {
      row[kPolls] = std::bit_ceil(row[kPolls]);
      continue;
    }
    const auto limit = limits.find(c.name());
    ASSERT_NE(limit, limits.end()) << c.name() << " is not recorded; run with JCCL_RECORD_TRANSACTIONS=1";
    for (size_t i = 0; i < kColumnCount; ++i) {
      EXPECT_LE(row[i], limit->second[i]) << c.name() << " " << kColumns[i]
                                          << ": more than recorded; if that is meant, run with "
                                             "JCCL_RECORD_TRANSACTIONS=1";
    }
  }
  if (records) record(rows);
}

// One-shot, each rank reads the data of all others. Two-shot, it reads its share of them and writes its result to them.
TEST(Transactions, AnAllReduceInPlaceIsOneShotUpToTheLimitOfItsLaunch) {
  constexpr uint64_t kBytes = 64 * 1024, kOneShot = kRanks * (kRanks - 1) * kBytes,
                     kTwoShot = 2 * (kRanks - 1) * kBytes;
  constexpr uint64_t kMeetings = 8 * 1024;  // more than the descriptors and flags
  Job job{.family = KernelFamily::InPlace, .skew = 0, .oneShotBytes = kBytes};
  const uint64_t atLimit = rowOf({job, kBytes})[0];
  EXPECT_GE(atLimit, kOneShot);
  EXPECT_LE(atLimit, kOneShot + kMeetings);
  job.oneShotBytes = kBytes - 1;
  const uint64_t above = rowOf({job, kBytes})[0];
  EXPECT_GE(above, kTwoShot);
  EXPECT_LE(above, kTwoShot + kMeetings);
}

// One rank is late by a millisecond. The ranks that wait for it must load little over PCIe, to disturb others little.
TEST(Transactions, WaitingRanksRarelyLoadFromTheHost) {
  constexpr uint64_t kMaxLoads[] = {60, 24, 108};  // in the order of the loop below
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    const Job job{.algorithm = Algorithm::Ring, .protocol = protocol, .skew = 0};
    StagedOperation staged(job, kRanks, kChannels, 4096);
    const emulator::MemoryPlaces places = staged.places();
    emulator::Options options;
    options.places = &places;
    emulator::Machine machine(options);
    uint64_t clock = 0;
    const auto beLate = [&] {
      const uint64_t begin = simt::nanos();
      while (simt::nanos() - begin < 1'000'000) {
        simt::storeRelaxed(&clock, simt::nanos());  // time does not leap while memory changes
        simt::pause();
      }
    };
    for (int rank = 0; rank < kRanks; ++rank) {
      staged.launch(
          machine, rank, kThreads, [] {}, rank == kRanks - 1 ? std::function<void()>(beLate) : [] {});
    }
    const emulator::Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    uint64_t loads = 0, polls = 0;
    for (int rank = 0; rank < kRanks - 1; ++rank) {
      loads += report.transactions[rank][Place::Host].loads.count();
      polls += report.transactions[rank].polls;
    }
    EXPECT_LE(loads, kMaxLoads[static_cast<int>(protocol)]) << nameOf(protocol) << " polls=" << polls;
    EXPECT_GE(polls, 1000u) << nameOf(protocol);
  }
}

}  // namespace
}  // namespace jccl::test::transactions_test
