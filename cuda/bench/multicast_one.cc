// multicast-one: whether the code of NVLS can run at all. One device makes a multicast object of its own, and the NVLS
// kernels run with one rank.
#include <cstring>

#include "cuda/bench/bench.h"
#include "cuda/nvls/nvls_algorithm.h"

namespace jccl::bench {
namespace {

constexpr int kChannels = 2;
constexpr uint32_t kSlotBytes = 64 * 1024;

bool report(const char* step, const Status& status) {
  line("{\"program\":\"multicast-one\",\"step\":\"%s\",\"ok\":%s,\"error\":%s}", step, status ? "true" : "false",
       quoted(status.message()).c_str());
  return status.isOk();
}

// Fills `bytes` with the elements 1, 2, 3, 1, ... of a type.
void fill(DataType type, std::vector<uint8_t>& bytes) {
  const size_t element = sizeOf(type);
  for (size_t i = 0; i < bytes.size() / element; ++i) {
    const auto put = [&](auto value) { std::memcpy(&bytes[i * element], &value, sizeof value); };
    const auto number = static_cast<int>(1 + i % 3);
    if (type == DataType::Float32) put(static_cast<float>(number));
    constexpr uint16_t kBfloats[] = {0, 0x3f80, 0x4000, 0x4040};  // 0, 1, 2, 3
    if (type == DataType::Bfloat16) put(kBfloats[number]);
    if (type == DataType::Uint64) put(static_cast<uint64_t>(number));
  }
}

Status sum(const Scale& scale, const Ranks& ranks, DataType type, const char* name) {
  const size_t bytes = scale.quick ? 16 << 10 : 8 << 20;
  std::vector<uint8_t> input(bytes), output(bytes);
  fill(type, input);
  const Buffers buffers(1, bytes);
  device::DeviceCommunicator& one = ranks.rank(0);
  const auto copy = [&](void* to, const void* from) {
    return here([&] {
      const Status status = device::copyAsync(to, from, bytes, one.ownStream());
      return status ? device::synchronize(one.ownStream()) : status;
    });
  };
  if (Status status = copy(buffers.send(0), input.data()); !status) return status;
  const OperationCode code{Collective::AllReduce, type, ReduceOp::Sum};
  const Choice nvls = one.adjustChoice(choiceOf(Algorithm::Nvls, Protocol::Simple, kChannels), code);
  if (nvls.algorithm != Algorithm::Nvls) return Status::invalid("the communicator chose another algorithm");
  const double us = ranks.median(scale, scale.operations(50), [&](int) {
    return one.run(code, nvls, buffers.send(0), buffers.recv(0), static_cast<int64_t>(bytes / sizeOf(type)), 0,
                   kTimeoutNanos, one.ownStream());
  });
  if (Status status = copy(output.data(), buffers.recv(0)); !status) return status;
  line("{\"program\":\"multicast-one\",\"type\":\"%s\",\"bytes\":%zu,\"p50_us\":%.3f,\"wrong\":%s}", name, bytes, us,
       input == output ? "false" : "true");
  return input == output ? Status::ok() : Status::invalid("the sum of one rank differs from its input");
}

}  // namespace

int multicastOne(const Scale& scale) {
  Ranks::Shape shape{1, kChannels, scale.quick ? 64 : 384};
  std::unique_ptr<Ranks> ranks;
  require(Ranks::create(shape, ranks), "a rank");
  if (!report("supported", here([] { return device::MulticastMemory::supported(); }))) return 0;
  auto& nvls = ranks->rank(0).added<device::NvlsAlgorithm>();
  std::vector<uint8_t> info;
  bool fine = report("create", nvls.create(kSlotBytes, info)) && report("add", nvls.join(kSlotBytes, info, -1)) &&
              report("bind", nvls.bind());
  fine = fine && report("test", nvls.test(kTimeoutNanos));
  fine = fine && report("float32", sum(scale, *ranks, DataType::Float32, "float32"));
  fine = fine && report("bfloat16", sum(scale, *ranks, DataType::Bfloat16, "bfloat16"));
  return fine && report("uint64", sum(scale, *ranks, DataType::Uint64, "uint64")) ? 0 : 1;
}

}  // namespace jccl::bench
