#include "cuda/bench/bench.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace jccl::bench {

void line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::putchar('\n');
  std::fflush(stdout);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  return result + '"';
}

void require(const Status& status, const char* what) {
  if (status) return;
  std::fprintf(stderr, "gpu_bench: %s: %s\n", what, status.message().c_str());
  std::exit(1);
}

double quantile(std::vector<double> times, double share) {
  if (times.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + at, times.end());
  return times[static_cast<size_t>(at)];
}

Status Ranks::create(const Shape& shape, std::unique_ptr<Ranks>& ranks) {
  auto made = std::unique_ptr<Ranks>(new Ranks(shape));
  static uint64_t communicators = 0;
  ++communicators;
  for (int rank = 0; rank < shape.size; ++rank) {
    device::DeviceCommunicatorConfig config;
    config.rank = rank;
    config.size = shape.size;
    config.channels = shape.channels;
    config.device = kDevice;
    config.threads = shape.threads;
    config.simpleSlotBytes = shape.simpleSlotBytes;
    config.token[0] = communicators;
    std::unique_ptr<device::DeviceCommunicator> one;
    if (Status status = device::DeviceCommunicator::create(config, one); !status) return status;
    made->ranks_.push_back(std::move(one));
  }
  if (Status status = made->connect(); !status) return status;
  ranks = std::move(made);
  return Status::ok();
}

Status Ranks::connect() {
  std::vector<std::vector<uint8_t>> infos(ranks_.size());
  for (int rank = 0; rank < size(); ++rank) {
    for (int channel = 0; channel < shape_.channels; ++channel) {
      // Odd channels run in the reverse direction, and their trees are mirrored.
      const auto place = [&](int at) { return channel % 2 == 0 ? at : size() - 1 - at; };
      const int self = place(rank);
      std::vector<int> order, down;
      for (int i = 0; i < size(); ++i) order.push_back(place(i));
      for (int child = 2 * self + 1; child <= 2 * self + 2 && child < size(); ++child) down.push_back(place(child));
      Status status = this->rank(rank).setRing(channel, order);
      if (status) status = this->rank(rank).setTree(channel, self == 0 ? -1 : place((self - 1) / 2), down);
      if (!status) return status;
    }
    if (Status status = this->rank(rank).connectInfo(infos[static_cast<size_t>(rank)]); !status) return status;
  }
  for (int rank = 0; rank < size(); ++rank) {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank) continue;
      if (Status status = this->rank(rank).connect(peer, infos[static_cast<size_t>(peer)]); !status) return status;
    }
    if (Status status = this->rank(rank).prepare(true, nullptr); !status) return status;
  }
  return Status::ok();
}

void Ranks::await(int rank, const device::Issued& issued) const {
  Code code = issued.code;
  for (bool done = false; code == Code::Ok && !done;) code = this->rank(rank).query(issued.number, done);
  if (code != Code::Ok) require(Status(code, this->rank(rank).lastError()), "an operation");
}

double Ranks::run(const Put& put) const {
  const int64_t begin = monotonicNanos();
  std::vector<device::Issued> issued;
  for (int rank = 0; rank < size(); ++rank) issued.push_back(put(rank));
  for (int rank = 0; rank < size(); ++rank) await(rank, issued[static_cast<size_t>(rank)]);
  return static_cast<double>(monotonicNanos() - begin) / 1e3;
}

double Ranks::median(const Scale& scale, int operations, const Put& put) const {
  (void)run(put);
  std::vector<double> times;
  for (int i = 0; i < operations && (i < 3 || !scale.isOver()); ++i) times.push_back(run(put));
  return quantile(times, 0.5);
}

Choice choiceOf(Algorithm algorithm, Protocol protocol, int channels, bool inPlace) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.protocol = protocol;
  choice.channels = static_cast<uint8_t>(channels);
  choice.flags = inPlace ? Choice::kTryZeroCopy : 0;
  return choice;
}

namespace {

struct Program {
  const char* name;
  int (*run)(const Scale& scale);
};
constexpr Program kPrograms[] = {{"facts", deviceFacts},
                                 {"driver-costs", driverCosts},
#ifdef JCCL_BENCH_NVLS
                                 {"multicast-one", multicastOne},
#endif
                                 {"stamped", stampedKernels},
                                 {"sweeps", sweeps},
                                 {"loop", engineLoop},
                                 {"stub-peer", stubPeer}};

int usage() {
  std::fputs(
      "usage: gpu_bench facts|driver-costs|multicast-one|stamped|sweeps|loop|stub-peer SECONDS [quick]\n"
      "Prints lines of JSON. Begins no measurement after SECONDS. quick: few small sizes, for emulated GPUs.\n",
      stderr);
  return 2;
}

int mainOf(int count, char** arguments) {
  if (count < 3 || std::atof(arguments[2]) <= 0) return usage();
  Scale scale;
  scale.quick = count > 3 && std::strcmp(arguments[3], "quick") == 0;
  scale.deadline = monotonicNanos() + static_cast<int64_t>(std::atof(arguments[2]) * 1e9);
  for (const Program& program : kPrograms) {
    if (std::strcmp(program.name, arguments[1]) == 0) return program.run(scale);
  }
  return usage();
}

}  // namespace
}  // namespace jccl::bench

int main(int count, char** arguments) { return jccl::bench::mainOf(count, arguments); }
