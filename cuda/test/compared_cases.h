// Runs the same cases on emulated kernels of all ranks and on the host's communicators, and compares the results.
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

// Runs one kernel of every rank to the end.
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

// Runs all cases in order on the host's communicators, over one set of connections. `runCase` runs case `i` on a rank.
inline void runOnHost(int size, int channels, size_t cases, const std::function<Code(Engine&, size_t)>& runCase,
                      const std::function<void(EngineConfig&)>& adjust = {}) {
  RankThreads threads(size, channels, adjust);
  threads.run([&](Engine& communicator) {
    for (size_t i = 0; i < cases; ++i) {
      ASSERT_EQ(runCase(communicator, i), Code::Ok) << communicator.lastError();
    }
  });
}

// Runs all cases in order with the collective kernels. `describe` fills in the launch of case `i` on a rank and returns
// a name for it.
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

// Expects the host's results on every rank. `device` and `host` contain the buffers of each rank and case. Buffers have
// the functions `same` and `intact`, and a case has the function `text`.
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
