// Times operations of two or more forked processes on the real engine, without Java, in microseconds per operation.
//
//     collective_bench [all_reduce|broadcast|...] [ranks=2] [bytes=8] [ring|tree|direct|two-shot|zero] [ll|ll128|simple]
//                      [chunkBytes=0] [runs=15] [channels=1] [slotBytes=262144] [iterations=0]
//
// `bytes` is the size of one rank's data or, for operations with a part for every rank, of one part. Prints the minimum
// and the median over the runs. A run has `iterations` operations; 0 chooses enough of them to be timed. "zero" reads
// buffers in place. If there is a core for every rank, each rank is bound to its own; `taskset` chooses the cores.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/bench_process.h"
#include "engine/core_sharing.h"
#include "engine/engine.h"

namespace {

using namespace jccl;

constexpr int64_t kTimeoutNanos = 60'000'000'000;

Collective collectiveOf(const std::string& name) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (name == nameOf(collective) && collective != Collective::SendRecv && collective != Collective::Barrier)
      return collective;
  }
  std::fprintf(stderr, "collective=%s: expected all_reduce, broadcast, ... and no messages\n", name.c_str());
  std::exit(2);
}

Choice choiceOf(const std::string& algorithm, const std::string& protocol, uint32_t chunkBytes, int channels) {
  Choice choice;
  choice.algorithm = algorithm == "tree" ? Algorithm::Tree : algorithm == "ring" ? Algorithm::Ring : Algorithm::Direct;
  choice.protocol = protocol == "ll" ? Protocol::LL : protocol == "ll128" ? Protocol::LL128 : Protocol::Simple;
  choice.flags = algorithm == "zero" ? Choice::kTryZeroCopy : algorithm == "two-shot" ? Choice::kTwoShot : 0;
  choice.chunkBytes = chunkBytes;
  choice.channels = static_cast<uint8_t>(channels);
  return choice;
}

void runRank(Engine& communicator, Collective collective, Choice choice, size_t bytes, int runs, int iterations,
             uint8_t* send, uint8_t* recv) {
  bindToOwnCore(communicator.rank(), communicator.size());
  const OperationCode code{collective, DataType::Float32, ReduceOp::Sum};
  const auto count = static_cast<int64_t>(bytes / sizeof(float));
  for (int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(send)[i] = static_cast<float>(i % 7);
  if (iterations == 0) iterations = static_cast<int>(std::clamp<size_t>((8u << 20) / (bytes + 64), 3, 20000));
  std::vector<double> micros;
  for (int run = 0; run <= runs; ++run) {
    const int64_t start = monotonicNanos();
    for (int i = 0; i < iterations; ++i) {
      const Code result = communicator.run(code, choice, reinterpret_cast<uint64_t>(send),
                                           reinterpret_cast<uint64_t>(recv), count, 0, kTimeoutNanos);
      if (result != Code::Ok) {
        std::fprintf(stderr, "%s\n", communicator.lastError().c_str());
        std::_Exit(1);
      }
    }
    if (run > 0) micros.push_back(static_cast<double>(monotonicNanos() - start) / iterations / 1000.0);
  }
  std::sort(micros.begin(), micros.end());
  if (communicator.rank() == 0) {
    std::printf("bytes=%-10zu min=%10.3f us  median=%10.3f us\n", bytes, micros.front(), micros[micros.size() / 2]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* fallback) { return std::string(argc > i ? argv[i] : fallback); };
  const Collective collective = collectiveOf(argument(1, "all_reduce"));
  const int ranks = std::stoi(argument(2, "2"));
  const size_t bytes = std::stoull(argument(3, "8"));
  const int channels = std::stoi(argument(8, "1"));
  const auto slotBytes = static_cast<uint32_t>(std::stoul(argument(9, "262144")));
  const Choice choice =
      choiceOf(argument(4, "direct"), argument(5, "ll"), static_cast<uint32_t>(std::stoul(argument(6, "0"))), channels);
  const int runs = std::stoi(argument(7, "15"));
  const int iterations = std::stoi(argument(10, "0"));

  // All ranks are constructed before the fork, in shared memory that keeps its addresses, so they connect like threads.
  std::vector<std::unique_ptr<Engine>> communicators;
  std::vector<uint8_t*> sends, recvs;
  for (int rank = 0; rank < ranks; ++rank) {
    EngineConfig config;
    config.rank = rank;
    config.size = ranks;
    config.channels = channels;
    config.simpleSlotBytes = slotBytes;
    config.localRanks = ranks;
    config.cores = static_cast<int>(allowedCores().size());
    communicators.push_back(std::make_unique<Engine>(config, sharedMemory(Engine::segmentShape(config).bytes())));
    sends.push_back(sharedMemory(ranks * bytes + 64));
    recvs.push_back(sharedMemory(ranks * bytes + 64));
  }
  std::vector<int> order;
  for (int rank = 0; rank < ranks; ++rank) order.push_back(rank);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const Status status =
          communicators[rank]->connectLocal(peer, TransportKind::P2p, communicators[peer]->segment().base());
      if (!status) std::fprintf(stderr, "%s\n", status.message().c_str());
    }
    for (int channel = 0; channel < channels; ++channel) {
      std::vector<int> down;
      for (int child = 2 * rank + 1; child <= 2 * rank + 2 && child < ranks; ++child) down.push_back(child);
      const bool good = communicators[rank]->setRing(channel, order).isOk() &&
                        communicators[rank]->setTree(channel, rank == 0 ? -1 : (rank - 1) / 2, down).isOk();
      if (!good) return 1;
    }
  }
  for (int rank = 1; rank < ranks; ++rank) {
    if (fork() == 0) {
      runRank(*communicators[rank], collective, choice, bytes, runs, iterations, sends[rank], recvs[rank]);
      std::_Exit(0);
    }
  }
  runRank(*communicators[0], collective, choice, bytes, runs, iterations, sends[0], recvs[0]);
  int status = 0;
  while (wait(&status) > 0) {
  }
  return 0;
}
