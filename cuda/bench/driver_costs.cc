// driver-costs: the time of each driver call of an operation, and the driver's basic costs: launches by the size of
// their arguments, noticing the end by an event or by a word, and a thread that polls while another launches.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cuda/bench/bench.h"
#include "cuda/bench/bench_kernels.h"
#include "cuda/driver/driver.h"

namespace jccl::bench {
namespace {

enum CallNumber {
#define JCCL_NUMBER_CALL(member, name, version, need, parameters) kCall_##member,
  JCCL_DRIVER_CALLS(JCCL_NUMBER_CALL)
#undef JCCL_NUMBER_CALL
      kCallCount
};

struct Times {
  static constexpr size_t kMost = 16384;

  std::atomic<size_t> count{0};
  std::array<float, kMost> us{};
};
std::array<Times, kCallCount> timesOfCalls;

// Times a call of the driver.
template <CallNumber Number, class Function>
struct Timed;
template <CallNumber Number, class... Parameters>
struct Timed<Number, driver::Result (*)(Parameters...)> {
  static inline driver::Result (*real)(Parameters...) = nullptr;

  static driver::Result call(Parameters... parameters) {
    const int64_t begin = monotonicNanos();
    const driver::Result result = real(parameters...);
    const auto us = static_cast<float>(monotonicNanos() - begin) / 1e3F;
    Times& times = timesOfCalls[Number];
    const size_t at = times.count.fetch_add(1, std::memory_order_relaxed);
    if (at < Times::kMost) times.us[at] = us;
    return result;
  }
};

// Replaces the driver's calls by timed ones, or restores them. No other thread may use the driver meanwhile.
void timeCalls(bool timed) {
  auto& calls = const_cast<driver::Driver&>(driver::driver());  // the object itself is not const
#define JCCL_TIME_CALL(member, name, version, need, parameters)                \
  {                                                                            \
    using Call = Timed<kCall_##member, decltype(driver::Calls::member)>;       \
    if (timed) Call::real = calls.member;                                      \
    if (Call::real != nullptr) calls.member = timed ? Call::call : Call::real; \
  }
  JCCL_DRIVER_CALLS(JCCL_TIME_CALL)
#undef JCCL_TIME_CALL
}

void reportCalls(const char* operation, int operations) {
#define JCCL_REPORT_CALL(member, name, version, need, parameters)                                                      \
  if (Times& times = timesOfCalls[kCall_##member]; times.count != 0) {                                                 \
    const size_t count = std::min<size_t>(times.count, Times::kMost);                                                  \
    const std::vector<double> us(times.us.begin(), times.us.begin() + static_cast<ptrdiff_t>(count));                  \
    line(                                                                                                              \
        "{\"program\":\"driver-costs\",\"what\":\"call\",\"operation\":\"%s\",\"call\":\"%s\",\"per_operation\":%.2f," \
        "\"p50_us\":%.3f,\"p99_us\":%.3f}",                                                                            \
        operation, name, static_cast<double>(times.count) / operations, quantile(us, 0.5), quantile(us, 0.99));        \
    times.count = 0;                                                                                                   \
  }
  JCCL_DRIVER_CALLS(JCCL_REPORT_CALL)
#undef JCCL_REPORT_CALL
}

void timeOperations(const Scale& scale) {
  std::unique_ptr<Ranks> ranks;
  require(Ranks::create({2, 1, 256, 512 * 1024}, ranks), "ranks");
  const Buffers buffers(2, 4096);
  const OperationCode sum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
  const int operations = scale.operations(500);
  for (const bool inPlace : {true, false}) {
    const Choice choice =
        inPlace ? choiceOf(Algorithm::Direct, Protocol::Simple, 1, true) : choiceOf(Algorithm::Ring, Protocol::LL, 1);
    const Ranks::Put put = [&](int rank) {
      device::DeviceCommunicator& one = ranks->rank(rank);
      return one.run(sum, choice, buffers.send(rank), buffers.recv(rank), 2, 0, kTimeoutNanos, one.ownStream());
    };
    const char* name = inPlace ? "all_reduce in place 8 B" : "all_reduce ring ll 8 B";
    line("{\"program\":\"driver-costs\",\"what\":\"operation\",\"operation\":\"%s\",\"p50_us\":%.3f}", name,
         ranks->median(scale, operations, put));
    timeCalls(true);
    for (int i = 0; i < operations; ++i) (void)ranks->run(put);
    timeCalls(false);
    reportCalls(name, 2 * operations);
  }
}

// A stream, an event and a word of pinned memory.
struct Means {
  device::Stream stream = nullptr;
  device::Event event = nullptr;
  void* word = nullptr;

  Means() {
    here([&] {
      require(device::createStream(stream), "a stream");
      require(device::createEvent(event), "an event");
      require(device::allocatePinned(4096, word), "pinned memory");
      return 0;
    });
  }
  ~Means() {
    here([&] {
      (void)device::destroyEvent(event);
      (void)device::destroyStream(stream);
      return device::releasePinned(word).isOk();
    });
  }

  uint32_t load() const { return __atomic_load_n(static_cast<uint32_t*>(word), __ATOMIC_ACQUIRE); }
};

template <class Given>
void launch(const Means& means, const Given& given) {
  require(device::launchKernel(kDevice, benchKernel(sizeof given), &given, 1, 32, means.stream), "a launch");
}

template <size_t N>
void timeLaunches(const Scale& scale, const Means& means) {
  const Arguments<N> given{};
  std::vector<double> issue, whole;
  here([&] {
    for (int i = 0; i < scale.operations(1000) + 2; ++i) {
      const int64_t begin = monotonicNanos();
      launch(means, given);
      const int64_t issued = monotonicNanos();
      require(device::synchronize(means.stream), "a stream");
      if (i < 2) continue;
      issue.push_back(static_cast<double>(issued - begin) / 1e3);
      whole.push_back(static_cast<double>(monotonicNanos() - begin) / 1e3);
    }
    return 0;
  });
  line(
      "{\"program\":\"driver-costs\",\"what\":\"launch\",\"argument_bytes\":%zu,\"issue_p50_us\":%.3f,"
      "\"awaited_p50_us\":%.3f}",
      N, quantile(issue, 0.5), quantile(whole, 0.5));
}

// Times a launch until the host knows its end: by the word that the kernel writes, or by an event after it.
void timeNotice(const Scale& scale, const Means& means, bool byWord) {
  std::vector<double> times;
  here([&] {
    for (int i = 0; i < scale.operations(1000) + 2; ++i) {
      Small given{};
      if (byWord) given.word = static_cast<uint32_t*>(means.word);
      given.value = means.load() + 1;
      const int64_t begin = monotonicNanos();
      launch(means, given);
      if (byWord) {
        while (means.load() != given.value) {
        }
      } else {
        require(device::recordEvent(means.event, means.stream), "an event");
        for (bool done = false; !done;) require(device::queryEvent(means.event, done), "an event");
      }
      if (i >= 2) times.push_back(static_cast<double>(monotonicNanos() - begin) / 1e3);
      require(device::synchronize(means.stream), "a stream");
    }
    return 0;
  });
  line("{\"program\":\"driver-costs\",\"what\":\"notice\",\"by\":\"%s\",\"p50_us\":%.3f,\"p99_us\":%.3f}",
       byWord ? "word" : "event", quantile(times, 0.5), quantile(times, 0.99));
}

// Times launches while another thread of the same context does nothing, or polls an event or a word.
void timeContention(const Scale& scale, const Means& means, const char* poller) {
  std::atomic<bool> over{false};
  const Means other;
  std::thread polling([&] {
    here([&] {
      require(device::recordEvent(other.event, other.stream), "an event");
      while (!over.load(std::memory_order_relaxed)) {
        bool done = false;
        if (std::strcmp(poller, "event") == 0) {
          require(device::queryEvent(other.event, done), "an event");
        } else if (std::strcmp(poller, "word") == 0) {
          (void)other.load();
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
      return 0;
    });
  });
  std::vector<double> times;
  here([&] {
    const Middle given{};
    for (int i = 0; i < scale.operations(1000); ++i) {
      const int64_t begin = monotonicNanos();
      launch(means, given);
      times.push_back(static_cast<double>(monotonicNanos() - begin) / 1e3);
      require(device::synchronize(means.stream), "a stream");
    }
    return 0;
  });
  over = true;
  polling.join();
  line(
      "{\"program\":\"driver-costs\",\"what\":\"contention\",\"other_thread\":\"%s\",\"launch_p50_us\":%.3f,"
      "\"launch_p99_us\":%.3f}",
      poller, quantile(times, 0.5), quantile(times, 0.99));
}

}  // namespace

// facts: what the driver says of itself and of the device.
int deviceFacts(const Scale&) {
  line("{\"program\":\"facts\",\"what\":\"driver\",\"driver\":%s}", quoted(device::describeDriver()).c_str());
  // MEM_SYNC_DOMAIN_COUNT, HANDLE_TYPE_FABRIC_SUPPORTED, MULTICAST_SUPPORTED
  for (const int attribute : {126, 128, 132}) {
    int value = 0;
    const Status status = device::attributeOf(kDevice, static_cast<driver::DeviceAttribute>(attribute), value);
    line("{\"program\":\"facts\",\"what\":\"attribute\",\"attribute\":%d,\"value\":%d,\"error\":%s}", attribute, value,
         quoted(status.message()).c_str());
  }
  device::DeviceProperties properties;
  require(device::describeDevice(kDevice, properties), "device 0");
  line("{\"program\":\"facts\",\"what\":\"device\",\"name\":%s,\"capability\":%d,\"multiprocessors\":%d}",
       quoted(properties.name).c_str(), properties.capability, properties.multiprocessors);
  return 0;
}

int driverCosts(const Scale& scale) {
  here([] {
    require(device::loadKernels(), "the kernels");
    return 0;
  });
  {
    const Means means;
    timeLaunches<64>(scale, means);
    timeLaunches<2432>(scale, means);
    timeLaunches<4096>(scale, means);
    timeNotice(scale, means, true);
    timeNotice(scale, means, false);
    for (const char* poller : {"sleeps", "word", "event"}) timeContention(scale, means, poller);
  }
  timeOperations(scale);
  return 0;
}

}  // namespace jccl::bench
