// stub-peer: the in-place kernel of one rank, whose peer only seems to take part. So a profiler can run the kernel again
// and again, which would hang kernels that wait for each other.
#include <cstring>
#include <vector>

#include "cuda/bench/bench.h"
#include "cuda/driver/driver.h"
#include "cuda/driver/driver_api.h"
#include "cuda/kernels/launch.h"

namespace jccl::bench {
namespace {

// Before each launch of rank 0, writes what rank 1 would have written: that it met rank 0 and has finished.
class StubPeer {
 public:
  StubPeer(uint8_t* send, uint8_t* recv) {
    descriptor.send = reinterpret_cast<uint64_t>(send);
    descriptor.recv = reinterpret_cast<uint64_t>(recv);
    descriptor.traits = 0;
    descriptor.finished = ~uint64_t{0};
    operations = 0;
    auto& calls = const_cast<driver::Driver&>(driver::driver());  // the object itself is not const
    launch = calls.launch;
    calls.launch = &changed;
  }
  ~StubPeer() { const_cast<driver::Driver&>(driver::driver()).launch = launch; }
  StubPeer(const StubPeer&) = delete;
  StubPeer& operator=(const StubPeer&) = delete;

 private:
  static inline device::ExchangeDescriptor descriptor{};
  static inline uint64_t operations = 0;
  static inline driver::Result (*launch)(const driver::LaunchConfig*, driver::Function, void**, void**) = nullptr;

  static driver::Result changed(const driver::LaunchConfig* config, driver::Function function, void** arguments,
                                void** extra) {
    const auto& given = *static_cast<const device::InPlaceLaunch*>(arguments[0]);
    descriptor.posted = ++operations;
    descriptor.fingerprint = given.fingerprint ^ fingerprintOf(operations, given.code, given.count, given.root);
    for (unsigned channel = 0; channel < config->gridX; ++channel) {
      device::ExchangeDescriptor* at = given.descriptors + size_t{channel} * static_cast<size_t>(given.size) + 1;
      const driver::Result result =
          driver::driver().copyAsync(reinterpret_cast<driver::Address>(at),
                                     reinterpret_cast<driver::Address>(&descriptor), sizeof descriptor, config->stream);
      if (result != driver::Result::Success) return result;
    }
    if (const driver::Result result = driver::driver().streamSynchronize(config->stream);
        result != driver::Result::Success) {
      return result;
    }
    return launch(config, function, arguments, extra);
  }
};

}  // namespace

int stubPeer(const Scale& scale) {
  const int channels = scale.quick ? 2 : 32;
  const size_t bytes = scale.largeBytes();
  const Buffers buffers(2, bytes);
  for (const DataType type : {DataType::Float32, DataType::Bfloat16}) {
    std::unique_ptr<Ranks> ranks;
    require(Ranks::create({2, channels, scale.quick ? 64 : 384, 64 * 1024}, ranks), "ranks");
    device::DeviceCommunicator& one = ranks->rank(0);
    const StubPeer peer(buffers.send(1), buffers.recv(1));
    std::vector<double> times;
    for (int i = 0; i < scale.operations(10) && !scale.isOver(); ++i) {
      const int64_t begin = monotonicNanos();
      ranks->await(
          0, one.run({Collective::AllReduce, type, ReduceOp::Sum},
                     choiceOf(Algorithm::Direct, Protocol::Simple, channels, true), buffers.send(0), buffers.recv(0),
                     static_cast<int64_t>(bytes / sizeOf(type)), 0, kTimeoutNanos, one.ownStream()));
      times.push_back(static_cast<double>(monotonicNanos() - begin) / 1e3);
    }
    line("{\"program\":\"stub-peer\",\"type\":\"%s\",\"bytes\":%zu,\"channels\":%d,\"p50_us\":%.3f}",
         type == DataType::Float32 ? "float32" : "bfloat16", bytes, channels, quantile(times, 0.5));
  }
  return 0;
}

}  // namespace jccl::bench
