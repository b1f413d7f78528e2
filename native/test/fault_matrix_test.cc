// The fault matrix: every collective, algorithm, protocol and type over the simulated network, over a network plug-in
// with faults, and over sockets. The networks are late, deliver in parts and break. Results must be right, or an error
// must end the operation in time. With odd seeds, all TCP connections are encrypted.
//
// Each test draws a seed and prints it when it fails. JCCL_FAULT_SEED=N repeats a seed (with JCCL_FAULT_RUNS=1).
// JCCL_FAULT_RUNS=N runs N tests of each kind (scripts/check-faults).
#include <dirent.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

#include "base/clock.h"
#include "engine/communicator.h"
#include "test/fault_scenario.h"
#include "test/sanitized.h"
#include "test/test_plugins.h"
#include "transport/net_socket.h"

namespace jccl::test::fault_matrix_test {
namespace {

constexpr int kDefaultRuns = test::kSanitized ? 3 : 12;
constexpr int64_t kTimeLimitNanos = 60'000'000'000;    // timeout of operations if nothing breaks
constexpr int64_t kBriefTimeLimitNanos = 800'000'000;  // timeout of operations if connections break
constexpr int64_t kLatenessNanos = 10'000'000'000;     // time by which a loaded host may exceed the timeout
constexpr std::chrono::seconds kHangLimit{240};

uint64_t numberFrom(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return text == nullptr || *text == 0 ? otherwise : std::strtoull(text, nullptr, 10);
}

uint64_t drawSeed() {
  std::random_device device;
  return numberFrom("JCCL_FAULT_SEED", device());
}

// The network between hosts: the simulated network, a plug-in with a fault, or sockets.
enum class Over { Simulated, Plugin, Sockets };

// Returns true if the TCP connections of a scenario are encrypted.
bool encrypts(const Scenario& scenario, Over over) {
  std::shared_ptr<const crypto::Library> library;
  return over != Over::Simulated && scenario.seed % 2 == 1 && crypto::Library::open(&library).isOk();
}

// Makes sockets whose buffers in the kernel are so small that frames and records leave and arrive in parts. `configs`
// must outlive the networks.
NetMaker narrowSockets(std::deque<NetConfig>& configs) {
  return [&configs](const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents, std::unique_ptr<Net>* net) {
    NetConfig& narrow = configs.emplace_back(config);
    narrow.sendBufferBytes = narrow.receiveBufferBytes = 4096;
    auto made = std::make_unique<SocketNet>(narrow, controlEvents, dataEvents);
    Status started = made->start();
    *net = std::move(made);
    return started;
  };
}

// Ends a TCP connection of this process after some time, as a network that fails does.
class Breaker {
 public:
  explicit Breaker(uint64_t seed) : thread_([this, random = SeededRandom(seed)]() mutable { run(random); }) {}
  ~Breaker() { stop(); }

  // Returns the number of connections that were broken.
  int stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    return broken_;
  }

 private:
  void run(SeededRandom& random) {
    std::unique_lock lock(mutex_);
    const auto millis = [&] { return std::chrono::milliseconds(random.below(400)); };
    while (!changed_.wait_for(lock, millis(), [this] { return stopping_; })) {
      const std::vector<int> connected = connections();
      if (connected.empty()) continue;
      if (::shutdown(connected[random.below(connected.size())], SHUT_RDWR) == 0) ++broken_;
    }
  }

  static std::vector<int> connections() {
    std::vector<int> found;
    DIR* descriptors = ::opendir("/proc/self/fd");
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread uses this directory stream
    while (const dirent* each = ::readdir(descriptors)) {
      const int fd = std::atoi(each->d_name);
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      const bool connected = ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
      if (connected && peer.ss_family == AF_INET) found.push_back(fd);
    }
    ::closedir(descriptors);
    return found;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  int broken_ = 0;
  std::thread thread_;
};

// Choose the version and the fault of the plug-in by the seed. The plug-in reads its fault when it is initialised.
int chooseVersion(const Scenario& scenario) { return std::array{6, 9, 12}[scenario.seed % 3]; }
void chooseFault(const Scenario& scenario) {
  const uint64_t drawn = scenario.seed / 3;
  const std::string breaks = "breaks=" + std::to_string(drawn % 3000);
  const char* fault = scenario.loses ? breaks.c_str() : std::array{"", "late", "partial"}[drawn % 3];
  ::setenv("JCCL_TEST_PLUGIN_FAULT", fault, 1);  // NOLINT(concurrency-mt-unsafe): no job runs
}

// All ranks of one scenario, as threads.
class Job {
 public:
  explicit Job(const Scenario& scenario, Over over = Over::Simulated)
      : scenario_(scenario), over_(over), network_(faultsOf(scenario)), outcomes_(scenario.ranks) {
    if (over == Over::Plugin) chooseFault(scenario);
    const auto ranks = static_cast<size_t>(scenario.ranks);
    std::vector<std::vector<uint8_t>> info(ranks);
    communicators_.resize(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      CommunicatorConfig config;
      config.engine.rank = static_cast<int>(rank);
      config.engine.size = scenario.ranks;
      config.engine.channels = scenario.channels;
      config.engine.localRanks = scenario.ranks;
      config.engine.cores = static_cast<int>(std::thread::hardware_concurrency());
      config.engine.simpleSlotBytes = scenario.simpleSlotBytes;
      config.engine.llSlotBytes = scenario.smallSlotBytes;
      config.engine.ll128SlotBytes = scenario.smallSlotBytes;
      config.secret.assign(16, 42);
      config.encrypts = encrypts(scenario, over);
      if (over == Over::Plugin) {
        config.plugin = pluginOf(chooseVersion(scenario));
      } else {
        config.makeNet = over == Over::Sockets ? narrowSockets(configs_) : network_.maker();
      }
      check(Communicator::create(config, communicators_[rank]));
      check(communicators_[rank]->connectInfo({over == Over::Simulated ? "simulated" : "127.0.0.1"}, info[rank]));
    }
    for (size_t rank = 0; rank < ranks; ++rank) connect(rank, info);
  }

  void run() {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < communicators_.size(); ++rank) {
      threads.emplace_back([this, rank] {
        runRank(rank);
        const std::lock_guard lock(mutex_);
        ++ended_;
        changed_.notify_all();
      });
    }
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, kHangLimit, [this] { return ended_ == communicators_.size(); })) dieOfHang();
    }
    for (std::thread& thread : threads) thread.join();
    expectBuffersLeftAlone();
    // Aborts all ranks, as a coordinator would. Otherwise the destruction of a rank that succeeded would wait until its
    // data has left for ranks that failed.
    if (scenario_.loses) abortAll(Code::Aborted);
  }

  // Destroys all ranks. Expects that no memory stays registered.
  void close() {
    if (scenario_.registers && over_ == Over::Simulated) {
      EXPECT_GT(network_.registered(), 0) << scenario_.describe();
    }
    communicators_.clear();
    EXPECT_EQ(0, network_.registered()) << scenario_.describe();
    ::unsetenv("JCCL_TEST_PLUGIN_FAULT");  // NOLINT(concurrency-mt-unsafe): no job runs
  }

  struct Outcome {
    Code code = Code::Ok;
    size_t step = 0;
    std::string error;
  };
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const FaultyNetwork& network() const { return network_; }

 private:
  static NetFaults faultsOf(const Scenario& scenario) {
    NetFaults faults;
    faults.seed = scenario.seed;
    faults.loses = scenario.loses;
    faults.ranks = scenario.ranks;
    faults.registers = scenario.registers;
    return faults;
  }

  static void check(const Status& status) { ASSERT_TRUE(status.isOk()) << status.message(); }

  void connect(size_t rank, const std::vector<std::vector<uint8_t>>& info) {
    const int self = static_cast<int>(rank);
    const TransportKind network = over_ == Over::Plugin ? TransportKind::Plugin : TransportKind::Socket;
    for (int peer = 0; peer < scenario_.ranks; ++peer) {
      if (peer == self) continue;
      const bool together = scenario_.hosts[rank] == scenario_.hosts[peer];
      check(communicators_[rank]->connect(peer, together ? TransportKind::P2p : network, info[peer]));
    }
    layOut(communicators_[rank]->engine());
  }

  std::string where(size_t rank, size_t step) const {
    return scenario_.describe() + "; rank=" + std::to_string(rank) + " step=" + std::to_string(step) + " " +
           describe(scenario_.steps[step]) + " " + communicators_[rank]->lastError();
  }

  void runRank(size_t rank) {
    for (size_t index = 0; index < scenario_.steps.size(); ++index) {
      const int64_t start = monotonicNanos();
      const Code code = runStep(rank, index);
      const int64_t took = monotonicNanos() - start;
      if (code == Code::Ok) continue;
      outcomes_[rank] = {code, index, communicators_[rank]->lastError()};
      EXPECT_LT(took, (scenario_.loses ? kBriefTimeLimitNanos : kTimeLimitNanos) + kLatenessNanos)
          << where(rank, index);
      if (scenario_.coordinated) abortAll(Code::Aborted);
      return;
    }
  }

  Code runStep(size_t rank, size_t index) {
    const Step& step = scenario_.steps[index];
    const Data data(scenario_, index);
    const std::vector<uint8_t> sent = data.sentBy(rank);
    const std::vector<uint8_t> expected = data.expectedBy(rank);
    const size_t skew = index % 5 == 1 ? 1 : 0;
    Guarded send(sent.size(), skew);
    Guarded recv(data.recvCount() * data.element(), skew, 0xEE);
    std::copy(sent.begin(), sent.end(), send.data());
    const bool inPlace = step.inPlace && step.code.collective == Collective::AllReduce;
    Guarded& result = inPlace ? send : recv;
    const int64_t timeLimit = scenario_.loses ? kBriefTimeLimitNanos : kTimeLimitNanos;
    Code code;
    if (step.code.collective == Collective::SendRecv) {
      const uint32_t fingerprint = messageFingerprint(step.code.type, step.count);
      const int next = static_cast<int>((rank + 1) % communicators_.size());
      const int before = static_cast<int>((rank + communicators_.size() - 1) % communicators_.size());
      const PointToPointTask tasks[] = {
          {PointToPointTask::Kind::Send, next, send.data(), sent.size(), fingerprint},
          {PointToPointTask::Kind::Recv, before, recv.data(), expected.size(), fingerprint}};
      code = communicators_[rank]->engine().runPointToPoint(tasks, timeLimit);
    } else {
      code = communicators_[rank]->engine().run(step.code, step.choice, send.address(), result.address(),
                                                static_cast<int64_t>(step.count), step.root, timeLimit);
    }
    if (code == Code::Ok) {
      if (!expected.empty()) {
        const auto wrong = std::mismatch(expected.begin(), expected.end(), result.data());
        EXPECT_TRUE(wrong.first == expected.end()) << "wrong from byte " << wrong.first - expected.begin() << " of "
                                                   << expected.size() << "; " << where(rank, index);
      }
      if (!inPlace) {
        EXPECT_TRUE(std::equal(sent.begin(), sent.end(), send.data())) << "sent was changed; " << where(rank, index);
      }
      EXPECT_TRUE(send.intact() && recv.intact()) << where(rank, index);
      return code;
    }
    // The network must have released both buffers: from now on the network must neither read the send buffer nor write
    // the receive buffer.
    std::fill_n(send.data(), sent.size(), kLeftAlone);
    std::fill_n(recv.data(), data.recvCount() * data.element(), kLeftAlone);
    const std::lock_guard lock(mutex_);
    left_.push_back({std::move(send), sent.size()});
    left_.push_back({std::move(recv), data.recvCount() * data.element()});
    return code;
  }

  void expectBuffersLeftAlone() {
    if (left_.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    for (auto& [buffer, bytes] : left_) {
      EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes, [](uint8_t b) { return b == kLeftAlone; }))
          << "a failed operation's buffer was written; " << scenario_.describe();
      EXPECT_TRUE(buffer.intact()) << scenario_.describe();
    }
  }

  void abortAll(Code code) {
    for (const auto& communicator : communicators_) communicator->engine().abort(code);
  }

  [[noreturn]] void dieOfHang() {
    std::fprintf(stderr, "hangs for %lld s; %s\n", static_cast<long long>(kHangLimit.count()),
                 scenario_.describe().c_str());
    for (size_t rank = 0; rank < communicators_.size(); ++rank) {
      std::fprintf(stderr, "rank %zu: %s\n", rank, communicators_[rank]->lastError().c_str());
      for (const ChannelWait& wait : communicators_[rank]->engine().waiting()) {
        std::fprintf(stderr, "  sequence=%llu channel=%d peer=%d step=%llu\n",
                     static_cast<unsigned long long>(wait.sequence), wait.channel, wait.place.peer,
                     static_cast<unsigned long long>(wait.place.step));
      }
    }
    std::abort();
  }

  static constexpr uint8_t kLeftAlone = 0x77;

  const Scenario scenario_;
  const Over over_;
  FaultyNetwork network_;
  std::deque<NetConfig> configs_;  // of sockets
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<Outcome> outcomes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ended_ = 0;
  std::vector<std::pair<Guarded, size_t>> left_;
};

class FaultMatrix : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, FaultMatrix,
                         ::testing::Range(0, static_cast<int>(numberFrom("JCCL_FAULT_RUNS", kDefaultRuns))));

void expectRight(Over over) {
  const Scenario scenario(drawSeed(), false);
  Job job(scenario, over);
  job.run();
  for (const Job::Outcome& outcome : job.outcomes()) {
    EXPECT_EQ(Code::Ok, outcome.code) << outcome.error << " in " << describe(scenario.steps[outcome.step]) << "; "
                                      << scenario.describe();
  }
  EXPECT_TRUE(over != Over::Simulated || job.network().messages() > 100u) << scenario.describe();
  job.close();
  ::testing::Test::RecordProperty("seed", std::to_string(scenario.seed));
}

void expectRightOrAnErrorInTime(Over over) {
  const Scenario scenario(drawSeed(), true);
  Job job(scenario, over);
  std::unique_ptr<Breaker> breaker;
  if (over == Over::Sockets) breaker = std::make_unique<Breaker>(scenario.seed);
  job.run();
  const uint64_t losses = breaker == nullptr ? job.network().losses() : static_cast<uint64_t>(breaker->stop());
  bool broke = false;
  for (const Job::Outcome& outcome : job.outcomes()) {
    if (outcome.code == Code::Ok) continue;
    broke = broke || outcome.code == Code::Transport;  // Timeout proves nothing: a loaded host can also cause it
    EXPECT_TRUE(outcome.code == Code::Transport || outcome.code == Code::Timeout || outcome.code == Code::Aborted)
        << static_cast<int>(outcome.code) << " " << outcome.error << "; " << scenario.describe();
    EXPECT_FALSE(outcome.error.empty());
  }
  EXPECT_TRUE(!broke || over == Over::Plugin || losses > 0) << "an error without a cause; " << scenario.describe();
  job.close();
  ::testing::Test::RecordProperty("seed", std::to_string(scenario.seed));
}

TEST_P(FaultMatrix, IsRightOverALateAndDisorderlyNetwork) { expectRight(Over::Simulated); }

TEST_P(FaultMatrix, IsRightOrEndsInTimeIfConnectionsBreak) { expectRightOrAnErrorInTime(Over::Simulated); }

TEST_P(FaultMatrix, IsRightOverSocketsThatSendInParts) { expectRight(Over::Sockets); }

TEST_P(FaultMatrix, IsRightOrEndsInTimeIfSocketsBreak) { expectRightOrAnErrorInTime(Over::Sockets); }

TEST_P(FaultMatrix, IsRightOverALateOrSlowPlugin) { expectRight(Over::Plugin); }

TEST_P(FaultMatrix, IsRightOrEndsInTimeIfAPluginBreaks) { expectRightOrAnErrorInTime(Over::Plugin); }

}  // namespace
}  // namespace jccl::test::fault_matrix_test
