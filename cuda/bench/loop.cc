// loop: operations of two ranks, a thread for each, on the native engine without Java: awaited, on a stream, and as a
// graph.
#include <algorithm>
#include <barrier>
#include <thread>

#include "cuda/bench/bench.h"

namespace jccl::bench {
namespace {

constexpr int kRanks = 2, kBatch = 20;

enum class Mode { Await, Stream, Graph };
constexpr const char* kModes[] = {"await", "stream", "graph"};

struct Case {
  Collective collective;
  const char* name;
  Choice choice;
  const char* by;
  size_t maxBytes;
};

// Measures one rank's operations; all ranks do so at the same time. Returns the median time of an operation in us.
double measure(const Ranks& ranks, int rank, Mode mode, int batches, const Ranks::Put& put, std::barrier<>& meeting) {
  const device::Stream stream = ranks.rank(rank).ownStream();
  device::Graph graph = nullptr;
  if (mode == Mode::Graph) {
    meeting.arrive_and_wait();
    here([&] {
      require(device::beginCapture(stream), "a capture");
      for (int i = 0; i < kBatch; ++i) require(Status(put(rank).code, ranks.rank(rank).lastError()), "a capture");
      require(device::endCapture(stream, graph), "a capture");
      return 0;
    });
  }
  const auto batch = [&] {
    if (mode == Mode::Await) return ranks.await(rank, put(rank));
    device::Issued last;
    for (int i = 0; i < kBatch && mode == Mode::Stream; ++i) last = put(rank);
    if (mode == Mode::Graph) here([&] { return device::launchGraph(graph, stream).isOk(); });
    here([&] {
      require(device::synchronize(stream), "a stream");
      return 0;
    });
    if (mode == Mode::Stream) ranks.await(rank, last);
  };
  meeting.arrive_and_wait();
  batch();
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    const int64_t begin = monotonicNanos();
    batch();
    times.push_back(static_cast<double>(monotonicNanos() - begin) / 1e3 / (mode == Mode::Await ? 1 : kBatch));
  }
  meeting.arrive_and_wait();
  if (graph != nullptr) here([&] { return device::destroyGraph(graph).isOk(); });
  return quantile(times, 0.5);
}

void measureAll(const Scale& scale, const Ranks& ranks, const Buffers& buffers, const Case& one, size_t bytes) {
  const bool blocks = one.collective != Collective::AllReduce;
  const size_t count = bytes / sizeof(float) / (blocks ? kRanks : 1);
  const Ranks::Put put = [&](int rank) {
    device::DeviceCommunicator& communicator = ranks.rank(rank);
    return communicator.run({one.collective, DataType::Float32, ReduceOp::Sum}, one.choice, buffers.send(rank),
                            buffers.recv(rank), static_cast<int64_t>(count), 0, kTimeoutNanos,
                            communicator.ownStream());
  };
  for (const Mode mode : {Mode::Await, Mode::Stream, Mode::Graph}) {
    if (scale.isOver()) return;
    const int batches = scale.quick ? 2 : bytes > (8 << 20) ? 10 : mode == Mode::Await ? 200 : 20;
    std::barrier<> meeting(kRanks);
    double times[kRanks] = {};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] { times[rank] = measure(ranks, rank, mode, batches, put, meeting); });
    }
    for (std::thread& thread : threads) thread.join();
    line(
        "{\"program\":\"loop\",\"collective\":\"%s\",\"by\":\"%s\",\"mode\":\"%s\",\"ranks\":%d,\"bytes\":%zu,"
        "\"p50_us\":%.3f}",
        one.name, one.by, kModes[static_cast<int>(mode)], kRanks, bytes, std::max(times[0], times[1]));
  }
}

}  // namespace

int engineLoop(const Scale& scale) {
  const int channels = scale.quick ? 2 : 32;
  std::unique_ptr<Ranks> ranks;
  require(Ranks::create({kRanks, channels, scale.quick ? 64 : 384, 512 * 1024}, ranks), "ranks");
  const Buffers buffers(kRanks, scale.largeBytes());
  const auto inPlace = [&](int count) { return choiceOf(Algorithm::Direct, Protocol::Simple, count, true); };
  const Choice exchange = choiceOf(Algorithm::Direct, Protocol::Simple, channels);
  const Case cases[] = {
      {Collective::AllReduce, "all_reduce", inPlace(channels), "in place", SIZE_MAX},
      {Collective::AllReduce, "all_reduce", choiceOf(Algorithm::Ring, Protocol::LL, 1), "ring ll", 4096},
      {Collective::AllReduce, "all_reduce", choiceOf(Algorithm::Direct, Protocol::LL, 1), "one-hop ll", 4096},
      {Collective::AllGather, "all_gather", inPlace(channels), "in place", SIZE_MAX},
      {Collective::ReduceScatter, "reduce_scatter", inPlace(channels), "in place", SIZE_MAX},
      {Collective::AllToAll, "all_to_all", exchange, "exchange", SIZE_MAX}};
  for (const Case& one : cases) {
    for (size_t bytes = 8; bytes <= scale.largeBytes() && bytes <= one.maxBytes; bytes *= 16) {
      measureAll(scale, *ranks, buffers, one, bytes);
    }
  }
  return 0;
}

}  // namespace jccl::bench
