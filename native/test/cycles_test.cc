// Creates and destroys communicators, and checks that nothing is left: no descriptor, thread, shared memory, registered
// memory or file.
//
// JCCL_LEAK_CYCLES=N: number of cycles of each kind, instead of a few (scripts/check-leaks).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "engine/communicator.h"
#include "test/faulty_net.h"
#include "test/net_pair.h"
#include "test/rank_threads.h"
#include "test/sanitized.h"
#include "test/test_plugins.h"
#include "test/verbs_objects.h"
#include "transport/net_ib.h"

namespace jccl::test::cycles_test {
namespace {

constexpr int kRanks = 3;
constexpr int kChannels = 2;
constexpr int kDefaultCycles = kSanitized ? 5 : 15;
constexpr int kDefaultCyclesOverVerbs = 4;  // few, because a cycle takes seconds on emulated processors
// cycles before the first count: they create objects that live as long as the process
constexpr int kWarmUp = 3;
constexpr int64_t kSettlingNanos = 3'000'000'000;
// operation timeout for End::Broken, where a rank may not notice that a connection is lost
constexpr int64_t kBrokenTimeoutNanos = 100'000'000;

// The resources of this process, as the kernel reports them.
struct Held {
  long descriptors = 0;
  long threads = 0;
  long sharedMappings = 0;  // including the slots of network connections
  long files = 0;           // shared memory with names
  std::string verbs;        // objects of InfiniBand verbs, of all processes

  bool exceeds(const Held& other) const {
    return descriptors > other.descriptors || threads > other.threads || sharedMappings > other.sharedMappings ||
           files > other.files || verbs != other.verbs;
  }
};

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << "descriptors=" << held.descriptors << " threads=" << held.threads
             << " shared_mappings=" << held.sharedMappings << " files=" << held.files
             << (held.verbs.empty() ? "" : " verbs: ") << held.verbs;
}

long entriesOf(const char* folder, const std::string& beginning = "") {
  std::error_code gone;
  const std::filesystem::directory_iterator entries(folder, gone);
  return std::count_if(begin(entries), end(entries), [&](const std::filesystem::directory_entry& entry) {
    return entry.path().filename().string().compare(0, beginning.size(), beginning) == 0;
  });
}

Held held() {
  Held now;
  now.verbs = verbsObjects();
  now.descriptors = entriesOf("/proc/self/fd");
  now.threads = entriesOf("/proc/self/task");
  now.files = entriesOf("/dev/shm", "jccl-" + std::to_string(::getpid()));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) now.sharedMappings += line.find(" rw-s ") != std::string::npos;
  return now;
}

// Waits until nothing exceeds `before`, because the kernel lists ended threads a moment longer.
Held settled(const Held& before) {
  const int64_t end = monotonicNanos() + kSettlingNanos;
  Held now = held();
  while (now.exceeds(before) && monotonicNanos() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    now = held();
  }
  return now;
}

enum class End { Used, Unused, Aborted, Broken };

struct Kind {
  const char* name;
  TransportKind transport;
  int streams = 1;
  bool simulated = false;  // uses the simulated network, with registered memory
  End end = End::Used;
  int threads = 1;
  int plugin = 0;  // interface version of the network plug-in; 0 for none
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class Cycle {
 public:
  Cycle(const Kind& kind, uint64_t seed) : kind_(kind), network_(faultsOf(kind, seed)) {
    std::vector<std::vector<uint8_t>> info(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      CommunicatorConfig config;
      config.engine.rank = rank;
      config.engine.size = kRanks;
      config.engine.channels = kChannels;
      config.engine.localRanks = kRanks;
      config.engine.cores = 2;
      config.engine.simpleSlotBytes = 16'384;
      config.engine.token[0] = seed;
      config.streamsPerConnection = kind.streams;
      config.socketThreads = kind.threads;
      config.secret.assign(16, 42);
      if (kind.simulated) config.makeNet = network_.maker();
      if (kind.plugin != 0) config.plugin = pluginOf(kind.plugin);
      config.usesIb = kind.transport == TransportKind::Ib;
      check(Communicator::create(config, communicators_[rank]));
      const bool listens = isNetwork(kind.transport);
      check(communicators_[rank]->connectInfo(
          listens ? std::vector<std::string>{"127.0.0.1"} : std::vector<std::string>{}, info[rank]));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer != rank) check(communicators_[rank]->connect(peer, kind.transport, info[peer]));
      }
      layOut(communicators_[rank]->engine());
    }
    for (const auto& communicator : communicators_) check(communicator->prepare());
  }

  void run() {
    if (kind_.end == End::Unused) return;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([this, rank] { runRank(rank); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Destroys the communicators in parallel, as ranks do. Memory that is still registered afterwards has no owner.
  void close() {
    std::vector<std::thread> threads;
    for (auto& communicator : communicators_) {
      threads.emplace_back([&communicator] { communicator.reset(); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, network_.registered());
  }

 private:
  static NetFaults faultsOf(const Kind& kind, uint64_t seed) {
    NetFaults faults;
    faults.seed = seed;
    faults.registers = true;
    faults.loses = kind.end == End::Broken;
    faults.ranks = kRanks;
    return faults;
  }

  static void check(const Status& status) { ASSERT_TRUE(status.isOk()) << status.message(); }

  // Runs small and large all-reduces with each of three algorithms.
  void runRank(int rank) {
    Engine& engine = communicators_[rank]->engine();
    for (const size_t count : {size_t{4}, size_t{80'000}}) {
      for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
        std::vector<float> send(count, 1);
        std::vector<float> recv(count);
        const Code code =
            engine.run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                       choiceOf(algorithm, count < 100 ? Protocol::LL : Protocol::Simple, kChannels),
                       reinterpret_cast<uint64_t>(send.data()), reinterpret_cast<uint64_t>(recv.data()),
                       static_cast<int64_t>(count), 0, kind_.end == End::Broken ? kBrokenTimeoutNanos : kTimeoutNanos);
        if (kind_.end == End::Used) {
          EXPECT_EQ(Code::Ok, code) << communicators_[rank]->lastError();
          EXPECT_EQ(kRanks * static_cast<float>(count), std::accumulate(recv.begin(), recv.end(), 0.0F));
        }
        if (code != Code::Ok) return abortAll();
        // One rank aborts while the others continue with the next operation.
        if (kind_.end == End::Aborted && rank == 1 && count > 100) return abortAll();
      }
    }
  }

  void abortAll() {
    for (const auto& communicator : communicators_) communicator->engine().abort(Code::Aborted);
  }

  const Kind kind_;
  FaultyNetwork network_;
  std::array<std::unique_ptr<Communicator>, kRanks> communicators_;
};

int cyclesOf(const Kind& kind) {
  const char* text = std::getenv("JCCL_LEAK_CYCLES");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (text != nullptr && *text != 0) return std::atoi(text);
  return kind.transport == TransportKind::Ib ? kDefaultCyclesOverVerbs : kDefaultCycles;
}

class Cycles : public ::testing::TestWithParam<Kind> {};

TEST_P(Cycles, LeaveNothingBehind) {
  if (GetParam().transport == TransportKind::Ib) {
    std::unique_ptr<NetTransport> net;
    const Status made = NetTransport::create(configOf(0, 2), &net, IbNet::open);
    if (!made) GTEST_SKIP() << made.message();
  }
  const auto cycle = [](uint64_t seed) {
    Cycle one(GetParam(), seed);
    if (::testing::Test::HasFatalFailure()) return;
    one.run();
    one.close();
  };
  for (int i = 0; i < kWarmUp; ++i) cycle(1'000'000 + static_cast<uint64_t>(i));
  const Held before = held();
  const int cycles = cyclesOf(GetParam());
  for (int i = 0; i < cycles && !HasFailure(); ++i) cycle(static_cast<uint64_t>(i));
  const Held after = settled(before);
  EXPECT_FALSE(after.exceeds(before)) << "before: " << before << "\nafter " << cycles << " cycles: " << after;
  if (cycles > kDefaultCycles && !HasFailure()) {
    std::cout << GetParam() << ": " << cycles << " cycles, " << after << "\n" << std::flush;
  }
}

TEST(CyclesCount, IncludesResourcesOfOpenCommunicators) {
  const Held before = held();
  Cycle open({"sockets", TransportKind::Socket}, 1);
  const Held now = held();
  EXPECT_GT(now.descriptors, before.descriptors);
  EXPECT_GE(now.threads, before.threads + kRanks);  // each communicator has a network thread
  // Every connection has slots at both ends, in addition to the segments.
  EXPECT_GE(now.sharedMappings, before.sharedMappings + kRanks * (kRanks - 1) * kChannels * 2);
  EXPECT_TRUE(now.exceeds(before));
}

constexpr auto kP2p = TransportKind::P2p;
constexpr auto kNet = TransportKind::Socket;
constexpr auto kIb = TransportKind::Ib;
constexpr auto kPlugin = TransportKind::Plugin;
INSTANTIATE_TEST_SUITE_P(
    Kinds, Cycles,
    ::testing::Values(
        Kind{"p2p", kP2p}, Kind{"shm", TransportKind::Shm}, Kind{"sockets", kNet}, Kind{"sockets_4_streams", kNet, 4},
        Kind{"sockets_3_threads", kNet, 6, false, End::Used, 3}, Kind{"sockets_unused", kNet, 1, false, End::Unused},
        Kind{"sockets_aborted", kNet, 2, false, End::Aborted}, Kind{"simulated", kNet, 1, true},
        Kind{"simulated_aborted", kNet, 1, true, End::Aborted}, Kind{"simulated_broken", kNet, 1, true, End::Broken},
        Kind{"plugin_v6", kPlugin, 1, false, End::Used, 1, 6}, Kind{"plugin_v12", kPlugin, 1, false, End::Used, 1, 12},
        Kind{"plugin_unused", kPlugin, 1, false, End::Unused, 1, 12},
        Kind{"plugin_aborted", kPlugin, 1, false, End::Aborted, 1, 12}, Kind{"verbs", kIb},
        Kind{"verbs_unused", kIb, 1, false, End::Unused}, Kind{"verbs_aborted", kIb, 1, false, End::Aborted}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace jccl::test::cycles_test
