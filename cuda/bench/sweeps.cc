// sweeps: large operations by number of channels, threads of a block, and size of the chunks of exchanges.
#include "cuda/bench/bench.h"
#include "cuda/driver/driver.h"
#include "cuda/kernels/launch.h"

namespace jccl::bench {
namespace {

constexpr uint32_t kLargestChunk = 512 * 1024;

// Replaces the size of the chunks of exchanges, which the library has as a constant: the kernels take it from their
// descriptor. Every launch meanwhile must be that of an exchange whose connections are all full ones.
class ChunkSize {
 public:
  explicit ChunkSize(uint32_t bytes) {
    chunkBytes = bytes;
    auto& calls = const_cast<driver::Driver&>(driver::driver());  // the object itself is not const
    launch = calls.launch;
    calls.launch = &changed;
  }
  ~ChunkSize() { const_cast<driver::Driver&>(driver::driver()).launch = launch; }
  ChunkSize(const ChunkSize&) = delete;
  ChunkSize& operator=(const ChunkSize&) = delete;

 private:
  static inline uint32_t chunkBytes = 0;
  static inline driver::Result (*launch)(const driver::LaunchConfig*, driver::Function, void**, void**) = nullptr;

  static driver::Result changed(const driver::LaunchConfig* config, driver::Function function, void** arguments,
                                void** extra) {
    auto descriptor = *static_cast<const device::ExchangeLaunch*>(arguments[0]);
    descriptor.compact = ConnectionShape(chunkBytes, 0, 0);
    void* replaced[] = {&descriptor};
    return launch(config, function, replaced, extra);
  }
};

struct Sweep {
  const char* name;
  OperationCode code;
  Choice choice;
  int ranks, threads;
  uint32_t slotBytes = 512 * 1024;
  uint32_t chunkBytes = 0;  // 0: the library's
};

void measure(const Scale& scale, const Sweep& sweep) {
  const size_t bytes = scale.largeBytes();
  const auto report = [&](const std::string& rest) {
    line(
        "{\"program\":\"sweeps\",\"sweep\":\"%s\",\"type\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"channels\":%d,"
        "\"threads\":%d,\"chunk_bytes\":%u,%s}",
        sweep.name, sweep.code.type == DataType::Bfloat16 ? "bfloat16" : "float32", sweep.ranks, bytes,
        sweep.choice.channels, sweep.threads, sweep.chunkBytes, rest.c_str());
  };
  if (scale.isOver()) return report("\"error\":\"its time was over\"");
  if (sweep.threads > device::kMaxBlockThreads) return report("\"error\":\"this build has no blocks of that size\"");
  std::unique_ptr<Ranks> ranks;
  const Status status = Ranks::create({sweep.ranks, sweep.choice.channels, sweep.threads, sweep.slotBytes}, ranks);
  if (!status) return report("\"error\":" + quoted(status.message()));
  const Buffers buffers(sweep.ranks, bytes);
  const bool blocks = sweep.code.collective == Collective::AllToAll;
  const size_t count = bytes / sizeOf(sweep.code.type) / (blocks ? static_cast<size_t>(sweep.ranks) : 1);
  const Ranks::Put put = [&](int rank) {
    device::DeviceCommunicator& one = ranks->rank(rank);
    return one.run(sweep.code, sweep.choice, buffers.send(rank), buffers.recv(rank), static_cast<int64_t>(count), 0,
                   kTimeoutNanos, one.ownStream());
  };
  std::unique_ptr<ChunkSize> chunk;
  if (sweep.chunkBytes != 0) chunk = std::make_unique<ChunkSize>(sweep.chunkBytes);
  const double us = ranks->median(scale, scale.operations(15), put);
  char text[96];
  std::snprintf(text, sizeof text, "\"p50_us\":%.3f,\"gbps\":%.3f", us, static_cast<double>(bytes) / us / 1e3);
  report(text);
}

}  // namespace

int sweeps(const Scale& scale) {
  constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
  constexpr OperationCode kSumBfloat{Collective::AllReduce, DataType::Bfloat16, ReduceOp::Sum};
  constexpr OperationCode kExchange{Collective::AllToAll, DataType::Float32, ReduceOp::Sum};
  const std::vector<int> channels =
      scale.quick ? std::vector<int>{1, 2} : std::vector<int>{1, 2, 4, 8, 16, 24, 32, 48, 64};
  const std::vector<int> threads = scale.quick ? std::vector<int>{64} : std::vector<int>{256, 384, 512};
  const int usual = scale.quick ? 64 : 384, many = channels.back() / 2;
  const auto inPlace = [](int count) { return choiceOf(Algorithm::Direct, Protocol::Simple, count, true); };
  // The most important first, because the time may not suffice for all.
  for (const int count : channels) measure(scale, {"in place", kSum, inPlace(count), 2, usual});
  for (const int ranks : {4, 8}) {
    const int fitting = std::max(1, many * 2 / ranks);
    measure(scale, {"in place", kSumBfloat, inPlace(fitting), ranks, usual});
    measure(scale, {"in place", kSum, inPlace(fitting), ranks, usual});
    if (scale.quick) break;
  }
  for (const uint32_t chunk : {64u << 10, 192u << 10, kLargestChunk}) {
    for (const int count : {std::max(1, many / 2), many}) {
      measure(scale, {"all_to_all", kExchange, choiceOf(Algorithm::Direct, Protocol::Simple, count), 2, usual,
                      kLargestChunk, chunk});
    }
  }
  for (const int count : channels) {
    measure(scale, {"ring simple", kSum, choiceOf(Algorithm::Ring, Protocol::Simple, count), 2, usual});
  }
  for (const int size : threads) {
    if (size == usual) continue;
    for (const int count : channels) measure(scale, {"in place", kSum, inPlace(count), 2, size});
    for (const int count : channels) {
      measure(scale, {"ring simple", kSum, choiceOf(Algorithm::Ring, Protocol::Simple, count), 2, size});
    }
  }
  return 0;
}

}  // namespace jccl::bench
