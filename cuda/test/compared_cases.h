// Kernels of all ranks under the emulator, and the same cases by the host's communicators.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cuda/test/device_ranks.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::test {

inline emulator::Options bySeed(uint64_t seed) {
  emulator::Options options;
  options.schedule = emulator::Schedule::BySeed;
  options.seed = seed;
  return options;
}

// One kernel of every rank, to their end.
inline void runKernels(const emulator::Options& options, int size, int channels,
                       const std::function<void(int)>& kernelOf) {
  emulator::Machine machine(options);
  for (int rank = 0; rank < size; ++rank) {
    machine.launch(
        channels, 64, [&kernelOf, rank] { kernelOf(rank); }, "rank " + std::to_string(rank));
  }
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
}

// All cases one after the other on one set of connections, by the host's communicators. `runCase` runs case `i` on a rank.
inline void runOnHost(int size, int channels, size_t cases, const std::function<Code(Communicator&, size_t)>& runCase,
                      const std::function<void(CommunicatorConfig&)>& adjust = {}) {
  RankThreads threads(size, channels, adjust);
  threads.run([&](Communicator& communicator) {
    for (size_t i = 0; i < cases; ++i) {
      ASSERT_EQ(runCase(communicator, i), Code::Ok) << communicator.lastError();
    }
  });
}

// The same by the collective kernels. `describe` fills in the launch of case `i` on a rank and says what it is.
inline void runOnDevice(DeviceRanks& ranks, int channels, unsigned threads, uint64_t seed, size_t cases,
                        const std::function<std::string(Launch&, int rank, size_t i)>& describe) {
  emulator::Machine machine(bySeed(seed));
  std::vector<std::vector<Launch>> launches(ranks.size());
  for (int rank = 0; rank < ranks.size(); ++rank) {
    int before = -1;
    launches[rank].reserve(cases);
    for (size_t i = 0; i < cases; ++i) {
      Launch& launch = launches[rank].emplace_back(ranks.launchOf(rank));
      const std::string name = describe(launch, rank, i);
      before = machine.launch(
          channels, threads, [&launch] { collectiveKernel(launch); }, "rank " + std::to_string(rank) + " " + name,
          before);
    }
  }
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
}

// Whether every rank has the host's results. Buffers, by rank and case, know `same` and `intact`; a case knows its `text`.
template <class Case, class Buffers>
void expectSame(const std::vector<Case>& cases, const DeviceRanks& ranks, std::vector<std::vector<Buffers>>& device,
                std::vector<std::vector<Buffers>>& host) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    ASSERT_EQ(ranks.result(rank), Code::Ok);
    for (size_t i = 0; i < cases.size(); ++i) {
      ASSERT_TRUE(device[rank][i].same(host[rank][i])) << cases[i].text() << " rank=" << rank;
      ASSERT_TRUE(device[rank][i].intact()) << cases[i].text() << " rank=" << rank;
    }
  }
}

}  // namespace jccl::test
