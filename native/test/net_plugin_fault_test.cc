// Tests of network plug-ins that misbehave in any call. Failures must be reported in time with the plug-in's name;
// nothing may hang.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "test/net_ranks.h"
#include "test/net_scenarios.h"
#include "test/sanitized.h"
#include "test/test_plugins.h"
#include "transport/net_plugin.h"

namespace jccl::net_plugin_fault_test {
namespace {

using test::Consumer;
using test::drive;
using test::errorOf;
using test::Pair;
using test::pluginOf;
using test::Producer;
using test::transfer;

const ConnectionShape kShape(64 * 1024, 4096, 4096);
// Peer timeout of the network in tests of faults that end by a timeout. On busy cores, calls without a fault took 150
// ms.
constexpr int64_t kBriefNanos = 300'000'000;
// Peer timeout of the network if a call blocks. A call without a fault that takes as long counts as blocked, and its
// test fails.
constexpr int64_t kBlockedNanos = 800'000'000;
constexpr int64_t kLateNanos = 8'000'000'000;
constexpr uint32_t kBytes = 1000;

struct Case {
  int version;
  const char* fault;
  std::vector<const char*> parts;  // parts of the text that one of the ranks must report
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << "v" << one.version << " " << one.fault; }

std::string nameOf(const ::testing::TestParamInfo<Case>& info) {
  std::string name = "V" + std::to_string(info.param.version) + "_" + info.param.fault;
  std::replace(name.begin(), name.end(), '=', '_');
  return name;
}

// Returns the cases for each version; under a sanitizer only for the last one, because versions differ only in how
// their tables are called.
std::vector<Case> inVersions(std::vector<int> versions, const std::vector<Case>& cases) {
  if (test::kSanitized) versions = {versions.back()};
  std::vector<Case> all;
  for (const int version : versions) {
    for (const Case& one : cases) all.push_back({version, one.fault, one.parts});
  }
  return all;
}

class PluginFault : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    // The plug-in reads this when it is initialised. Both ranks use the same plug-in.
    ::setenv("JCCL_TEST_PLUGIN_FAULT", GetParam().fault, 1);  // NOLINT(concurrency-mt-unsafe)
    logged();
  }

  // Makes blocked calls return after their callers have given them up. If the callers freed memory that a call uses,
  // the address sanitizer finds it here.
  void TearDown() override {
    ::unsetenv("JCCL_TEST_PLUGIN_FAULT");  // NOLINT(concurrency-mt-unsafe)
    void* library = ::dlopen(pluginOf(GetParam().version), RTLD_NOW);
    ASSERT_NE(nullptr, library);
    reinterpret_cast<void (*)()>(::dlsym(library, "jccl_test_plugin_release"))();
    ::dlclose(library);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  static bool blocks() { return std::string(GetParam().fault).rfind("blocks", 0) == 0; }

  static void choose(NetConfig& config) {
    config.plugin = pluginOf(GetParam().version);
    // Threads of a busy host run late, so timeouts are short only for faults that end by a timeout.
    const std::string fault = GetParam().fault;
    const bool waits = fault.rfind("never=", 0) == 0 || fault == "twice";
    config.connectTimeoutNanos = waits ? 6 * kBriefNanos : kLateNanos;
    if (waits) config.peerTimeoutNanos = kBriefNanos;
    if (blocks()) config.peerTimeoutNanos = kBlockedNanos;
  }
  static Pair pairOf() { return Pair(choose, "127.0.0.1", {PluginNet::open, PluginNet::open}); }

  static std::string logged() {
    std::string text;
    for (LogRecord record; takeLogRecord(&record);) text += record.text + "\n";
    return text;
  }

  static void expectParts(const std::string& text) {
    EXPECT_NE(std::string::npos, text.find(pluginOf(GetParam().version))) << text;
    for (const char* part : GetParam().parts) EXPECT_NE(std::string::npos, text.find(part)) << part << " in: " << text;
  }

  // Sends messages until a rank fails or all have arrived. Returns the errors of both ranks; empty if none failed.
  static std::string send(Pair& pair, int messages) {
    Producer producer(kShape);
    Consumer consumer(kShape);
    pair.connectOneWay(producer, consumer);
    std::atomic<bool> over{false};
    const auto until = [&](NetTransport& net, auto ready) {
      const int64_t end = monotonicNanos() + kLateNanos;
      while (!over.load() && monotonicNanos() < end && !net.failed()) {
        if (ready()) return true;
        if (net.poll() == 0) net.waitForEvents(1'000'000);
      }
      return false;
    };
    std::thread sender([&] {
      int sent = 0;
      for (; sent < messages && until(*pair.net[0], [&] { return producer.hasCredit(); }); ++sent) {
        producer.send(Protocol::Simple, kBytes);
      }
      until(*pair.net[0], [&] { return producer.freed() == static_cast<uint64_t>(messages); });
      if (sent < messages) over.store(true);
    });
    for (int i = 0; i < messages; ++i) {
      if (!until(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, kBytes); })) break;
    }
    if (pair.net[1]->failed()) over.store(true);
    sender.join();
    EXPECT_EQ(0u, consumer.wrong());
    const bool failed = pair.net[0]->failed() || pair.net[1]->failed();
    return failed ? reports(pair) : "";
  }

  // Returns the errors of both ranks. Waits for the expected parts of the text: the rank that meets the fault may
  // report it a moment after its peer has reported the closed connection.
  static std::string reports(const Pair& pair) {
    const int64_t end = monotonicNanos() + kLateNanos / 4;
    std::string text;
    do {
      text.clear();
      for (const auto& net : pair.net) {
        int peer = -1;
        const Status error = net->error(&peer);
        EXPECT_TRUE(error.isOk() || error.code() == Code::Transport) << error.message();
        text += error.message() + "\n";
      }
    } while (!hasParts(text) && monotonicNanos() < end);
    return text;
  }
  static bool hasParts(const std::string& text) {
    return std::all_of(GetParam().parts.begin(), GetParam().parts.end(),
                       [&](const char* part) { return text.find(part) != std::string::npos; });
  }

  // If a call blocks, keeps the slots, as a communicator does: the plug-in may still use them.
  static void leave(Pair& pair) {
    static std::vector<test::Block> left;
    if (blocks()) left.insert(left.end(), pair.kept.begin(), pair.kept.end());
  }

  static int64_t nanosOf(const std::function<void()>& body) {
    const int64_t start = monotonicNanos();
    body();
    return monotonicNanos() - start;
  }
};

// Faults in init, devices and getProperties, before any connection is made. Another network can be used instead.
class UnusablePlugin : public PluginFault {};

TEST_P(UnusablePlugin, IsRefusedWithTheReason) {
  NetConfig config = test::configOf(0, 2);
  config.plugin = pluginOf(GetParam().version);
  if (blocks()) config.connectTimeoutNanos = 10 * kBriefNanos;
  std::unique_ptr<NetTransport> net;
  Status made;
  EXPECT_LT(nanosOf([&] { made = NetTransport::create(config, &net, PluginNet::open); }), kLateNanos);
  EXPECT_FALSE(made.isOk());
  expectParts(made.message());
  EXPECT_TRUE(NetTransport::create(test::configOf(0, 2), &net).isOk());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, UnusablePlugin,
    ::testing::ValuesIn(inVersions({7, 12}, {{0, "blocks=devices", {"devices has not returned for"}},
                                             {0, "blocks=getProperties", {"getProperties has not returned for"}},
                                             {0, "fails=devices", {"devices returned 3 (internal error)"}},
                                             {0, "fails=getProperties", {"getProperties returned 3 (internal error)"}},
                                             {0, "properties=nodevices", {"devices=0, expected 1 to 64"}},
                                             {0, "properties=devices", {"devices=2147483647, expected 1 to 64"}}})),
    nameOf);
INSTANTIATE_TEST_SUITE_P(SinceV9, UnusablePlugin,
                         ::testing::ValuesIn(inVersions({9, 11}, {{0, "properties=maxbytes", {"maxP2pBytes=0"}}})),
                         nameOf);
// Before version 11, a process initialises a plug-in only once, and another test may have done so already.
INSTANTIATE_TEST_SUITE_P(SinceV11, UnusablePlugin,
                         ::testing::ValuesIn(inVersions({11, 12},
                                                        {{0, "blocks=init", {"init has not returned for"}},
                                                         {0, "fails=init", {"init returned 3 (internal error)"}}})),
                         nameOf);

// Faults that end the traffic.
class FaultyPlugin : public PluginFault {};

TEST_P(FaultyPlugin, EndsTheOperationAndClosesInTime) {
  std::string text;
  EXPECT_LT(nanosOf([&] {
              Pair pair = pairOf();
              text = send(pair, 100);
              EXPECT_TRUE(pair.net[0]->failed() || pair.net[1]->failed());
              for (auto& net : pair.net) net.reset();
              leave(pair);
            }),
            kLateNanos);
  expectParts(text);
  EXPECT_EQ(blocks(), logged().find("left behind: net plug-in Test (") != std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultyPlugin,
                         ::testing::ValuesIn(inVersions(
                             {6, 12},
                             {{0, "blocks=listen", {"listen has not returned for"}},
                              {0, "blocks=connect", {"connect has not returned for"}},
                              {0, "blocks=accept", {"accept has not returned for"}},
                              {0, "blocks=regMr", {"regMr has not returned for"}},
                              {0, "blocks=isend", {"isend has not returned for"}},
                              {0, "blocks=irecv", {"irecv has not returned for"}},
                              {0, "blocks=test", {"test has not returned for"}},
                              {0, "blocks=closeListen", {"closeListen has not returned for"}},
                              {0, "fails=listen", {"listen returned 3 (internal error); see what it logged"}},
                              {0, "fails=connect", {"connect returned 3 (internal error); see what it logged"}},
                              {0, "fails=accept", {"accept returned 3 (internal error); see what it logged"}},
                              {0, "fails=regMr", {"regMr returned 3 (internal error); see what it logged"}},
                              {0, "fails=isend", {"isend returned 3 (internal error); see what it logged"}},
                              {0, "fails=irecv", {"irecv returned 3 (internal error); see what it logged"}},
                              {0, "fails=test", {"test returned 3 (internal error); see what it logged"}},
                              {0, "fails=closeListen", {"closeListen returned 3 (internal error); see what it logged"}},
                              {0, "never=connect", {"has not connected"}},
                              {0, "never=accept", {"accept has made no connection after"}},
                              {0, "never=isend", {"isend has not completed message=", "the peer waits for it"}},
                              {0, "never=irecv", {"irecv has not completed message=", "it has no space for a request"}},
                              {0, "never=test", {"test has not completed message="}},
                              {0, "handle", {"connect returned 4 (invalid argument)"}},
                              {0, "nocomm", {"listen returned success and no communicator"}},
                              {0, "twice", {"net plug-in Test ("}},
                              {0, "early", {"delivered a message that does not fit"}},
                              {0, "size=huge", {"bytes=2147483647, expected 24 to "}},
                              {0, "size=negative", {"bytes=-2147483648, expected 24 to "}},
                              {0, "size=zero", {"bytes=0, expected 24 to "}},
                              {0, "size=short", {"delivered a message that does not fit"}}})),
                         nameOf);

// Faults when connections are closed, after all messages have been received.
class PluginThatEndsBadly : public PluginFault {};

TEST_P(PluginThatEndsBadly, ClosesInTime) {
  EXPECT_LT(nanosOf([&] {
              Pair pair = pairOf();
              send(pair, 30);
              for (const auto& net : pair.net) {
                int peer = -1;
                EXPECT_FALSE(net->failed()) << errorOf(*net, &peer);
              }
              for (auto& net : pair.net) net.reset();
              leave(pair);
            }),
            kLateNanos);
  expectParts(logged());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, PluginThatEndsBadly,
    ::testing::ValuesIn(inVersions({6, 12}, {{0, "blocks=closeSend", {"left behind", "closeSend has not returned for"}},
                                             {0, "blocks=closeRecv", {"left behind", "closeRecv has not returned for"}},
                                             {0, "blocks=deregMr", {"left behind", "deregMr has not returned for"}},
                                             {0, "fails=closeSend", {"closeSend returned 3 (internal error)"}},
                                             {0, "fails=closeRecv", {"closeRecv returned 3 (internal error)"}},
                                             {0, "fails=deregMr", {"deregMr returned 3 (internal error)"}}})),
    nameOf);
INSTANTIATE_TEST_SUITE_P(SinceV11, PluginThatEndsBadly,
                         ::testing::ValuesIn(inVersions({11, 12},
                                                        {{0, "blocks=finalize", {"finalize has not returned for"}},
                                                         {0, "fails=finalize", {"finalize returned 3"}}})),
                         nameOf);

// Faults that cost only time.
class OddPlugin : public PluginFault {};

TEST_P(OddPlugin, DeliversEverything) {
  const auto unhurried = [](NetConfig& config) { config.plugin = pluginOf(GetParam().version); };
  Pair pair(unhurried, "127.0.0.1", {PluginNet::open, PluginNet::open});
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, test::sizesOf(kShape, Protocol::Simple));
}

INSTANTIATE_TEST_SUITE_P(Faults, OddPlugin,
                         ::testing::ValuesIn(inVersions({6, 12}, {{0, "late", {}},
                                                                  {0, "partial", {}},
                                                                  {0, "properties=noname", {}},
                                                                  {0, "properties=speed", {}},
                                                                  {0, "properties=latency", {}},
                                                                  {0, "properties=maxcomms", {}},
                                                                  {0, "properties=maxrecvs", {}}})),
                         nameOf);

// Complete communicators: the operation fails, and closing a communicator does not wait for its plug-in.
class PluginOfCommunicators : public PluginFault {};

TEST_P(PluginOfCommunicators, EndsTheOperationWithATransportError) {
  std::string text;
  const int64_t took = nanosOf([&] {
    test::NetRanks ranks({0, 1}, TransportKind::Plugin, [](CommunicatorConfig& config) {
      config.plugin = pluginOf(GetParam().version);
      config.peerTimeoutNanos = kBlockedNanos;
    });
    std::array<Code, 2> codes{};
    // Never freed, because the log says that blocked calls may still read or write the memory of the failed operation.
    static auto* left = new std::vector<std::unique_ptr<std::vector<float>>>;
    std::array<std::vector<float>*, 2> userMemory{};
    for (auto& one : userMemory) one = left->emplace_back(std::make_unique<std::vector<float>>(1'000'000, 1)).get();
    std::vector<std::thread> threads;
    for (const size_t rank : {0, 1}) {
      threads.emplace_back([&, rank] {
        std::vector<float>& data = *userMemory[rank];
        const test::Variant ring{"ring", Algorithm::Ring};
        for (int i = 0; i < 20 && codes[rank] == Code::Ok; ++i) {
          codes[rank] = ranks.allReduce(rank, ring, data.data(), data.data(), data.size());
        }
        // Aborts the other rank, as a coordinator would.
        ranks.communicators[1 - rank]->engine().abort(Code::Aborted);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& communicator : ranks.communicators) text += communicator->lastError() + "\n";
    EXPECT_TRUE(codes[0] == Code::Transport || codes[1] == Code::Transport) << text;
  });
  EXPECT_LT(took, kLateNanos);
  expectParts(text);
  // If a call that moves messages blocks during the operation, the operation's memory stays in use.
  const std::string fault = GetParam().fault;
  if (fault != "blocks=isend" && fault != "blocks=irecv" && fault != "blocks=test") return;
  const std::string log = logged();
  EXPECT_NE(std::string::npos, log.find("memory of the failed operation may still be read or written")) << log;
}

INSTANTIATE_TEST_SUITE_P(Faults, PluginOfCommunicators,
                         ::testing::ValuesIn(inVersions({6, 12},
                                                        {{0, "blocks=connect", {"connect has not returned for"}},
                                                         {0, "blocks=accept", {"accept has not returned for"}},
                                                         {0, "blocks=regMr", {"regMr has not returned for"}},
                                                         {0, "blocks=isend", {"isend has not returned for"}},
                                                         {0, "blocks=irecv", {"irecv has not returned for"}},
                                                         {0, "blocks=test", {"test has not returned for"}},
                                                         {0, "never=isend", {"isend has not completed message="}},
                                                         {0, "never=irecv", {"irecv has not completed message="}},
                                                         {0, "never=test", {"test has not completed message="}}})),
                         nameOf);

// A late rank is no fault of the plug-in, no matter how late.
class GoodPlugin : public PluginFault {};

TEST_P(GoodPlugin, WaitsForALatePeer) {
  const auto briefly = [](NetConfig& config) {
    choose(config);
    config.peerTimeoutNanos = 4 * kBriefNanos;
  };
  Pair pair(briefly, "127.0.0.1", {PluginNet::open, PluginNet::open});
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  for (int round = 0; round < 2; ++round) {
    // The receiver is late, then the sender.
    for (int i = 0; i < 8; ++i) producer.send(Protocol::Simple, kBytes);
    drive(
        *pair.net[0], [] { return false; }, 10 * kBriefNanos);
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, kBytes); }));
    }
    drive(
        *pair.net[1], [] { return false; }, 10 * kBriefNanos);
  }
  for (const auto& net : pair.net) {
    int peer = -1;
    EXPECT_FALSE(net->failed()) << errorOf(*net, &peer);
  }
  EXPECT_EQ(0u, consumer.wrong());
}

INSTANTIATE_TEST_SUITE_P(None, GoodPlugin, ::testing::ValuesIn(inVersions({12}, {{0, "none", {}}})), nameOf);

}  // namespace
}  // namespace jccl::net_plugin_fault_test
