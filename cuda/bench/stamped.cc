// stamped: the time that a kernel of 8 bytes spends in each of its parts, by the GPU's clock.
#include "cuda/bench/stamp_table.h"

#include "cuda/bench/bench.h"

namespace jccl::bench {
namespace {

using device::KernelPoint;

struct Case {
  const char* name;
  Choice choice;
};

double microseconds(uint64_t begin, uint64_t end) {
  return static_cast<double>(static_cast<int64_t>(end - begin)) / 1e3;
}

void measure(const Scale& scale, const Ranks& ranks, const Buffers& buffers, const Case& one) {
  const OperationCode sum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
  const Ranks::Put put = [&](int rank) {
    device::DeviceCommunicator& communicator = ranks.rank(rank);
    return communicator.run(sum, one.choice, buffers.send(rank), buffers.recv(rank), 2, 0, kTimeoutNanos,
                            communicator.ownStream());
  };
  (void)ranks.run(put);
  std::vector<double> parts[device::kKernelPoints - 1], skews, all, host;
  for (int i = 0; i < scale.operations(300) && !scale.isOver(); ++i) {
    host.push_back(ranks.run(put));
    Stamps table;
    require(stampTable(table), "the table of stamps");
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const uint64_t* at = table.nanos[rank][0];
      for (int point = 1; point < device::kKernelPoints; ++point) {
        parts[point - 1].push_back(microseconds(at[point - 1], at[point]));
      }
      all.push_back(microseconds(at[0], at[device::kKernelPoints - 1]));
    }
    skews.push_back(microseconds(table.nanos[0][0][0], table.nanos[1][0][0]));
  }
  line(
      "{\"program\":\"stamped\",\"case\":\"%s\",\"ranks\":%d,\"host_words_us\":%.3f,\"meet_us\":%.3f,\"move_us\":%.3f,"
      "\"end_us\":%.3f,\"kernel_us\":%.3f,\"second_rank_later_us\":%.3f,\"awaited_us\":%.3f}",
      one.name, ranks.size(), quantile(parts[0], 0.5), quantile(parts[1], 0.5), quantile(parts[2], 0.5),
      quantile(parts[3], 0.5), quantile(all, 0.5), quantile(skews, 0.5), quantile(host, 0.5));
}

}  // namespace

int stampedKernels(const Scale& scale) {
  useStampedKernels();
  const Case cases[] = {{"in place", choiceOf(Algorithm::Direct, Protocol::Simple, 1, true)},
                        {"ring ll", choiceOf(Algorithm::Ring, Protocol::LL, 1)},
                        {"tree ll", choiceOf(Algorithm::Tree, Protocol::LL, 1)},
                        {"one-hop ll", choiceOf(Algorithm::Direct, Protocol::LL, 1)}};
  for (const int size : {2, 4, 8}) {
    std::unique_ptr<Ranks> ranks;
    if (Status status = Ranks::create({size, 1, 256, 512 * 1024}, ranks); !status) {
      line("{\"program\":\"stamped\",\"ranks\":%d,\"error\":%s}", size, quoted(status.message()).c_str());
      continue;
    }
    const Buffers buffers(size, 4096);
    for (const Case& one : cases) measure(scale, *ranks, buffers, one);
    if (scale.quick) break;
  }
  return 0;
}

}  // namespace jccl::bench
