// Tests of network plug-ins, with a test plug-in for each version of the interface.
#include "transport/net_plugin.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "base/clock.h"
#include "test/net_scenarios.h"
#include "test/test_plugins.h"

namespace jccl::net_plugin_test {
namespace {

using test::Consumer;
using test::drive;
using test::errorOf;
using test::Pair;
using test::pluginOf;
using test::Producer;
using test::transfer;

constexpr int64_t kCloseNanos = 10'000'000'000;

const ConnectionShape kShape(256 * 1024, 16 * 1024, 16 * 1024);

// Sizes and offsets as in NCCL's headers on 64-bit machines.
TEST(PluginInterface, HasTheLayoutsOfNccl) {
  using namespace plugin;
  EXPECT_EQ(48u, sizeof(Properties<6>));
  EXPECT_EQ(56u, sizeof(Properties<7>));
  EXPECT_EQ(64u, sizeof(Properties<8>));
  EXPECT_EQ(104u, sizeof(Properties<9>));
  EXPECT_EQ(104u, sizeof(Properties<10>));
  EXPECT_EQ(112u, sizeof(Properties<11>));
  EXPECT_EQ(128u, sizeof(Properties<12>));
  EXPECT_EQ(28u, offsetof(PropertiesV8, registrationIsGlobal));
  EXPECT_EQ(36u, offsetof(PropertiesV6, latency));
  EXPECT_EQ(8u * 17, offsetof(NetTable<6>, getDeviceMr));
  EXPECT_EQ(8u * 19, offsetof(NetTable<9>, makeVDevice));
  EXPECT_EQ(8u * 22, sizeof(NetTable<12>));
}

TEST(PluginLibrary, SaysWhatIsMissing) {
  std::shared_ptr<plugin::NetPlugin> plugin;
  const Status none = plugin::openNetPlugin("no-such", &plugin);
  EXPECT_EQ(Code::System, none.code());
  EXPECT_NE(std::string::npos, none.message().find("libnccl-net-no-such.so")) << none.message();
  const Status other = plugin::openNetPlugin(JCCL_FAKE_VERBS, &plugin);
  EXPECT_EQ(Code::System, other.code());
  EXPECT_NE(std::string::npos, other.message().find("exports none of ncclNetPlugin_v6 to _v12")) << other.message();
}

class NetPlugin : public ::testing::TestWithParam<int> {
 protected:
  static void choose(NetConfig& config) { config.plugin = pluginOf(GetParam()); }
  static Pair pairOf() { return Pair(choose, "127.0.0.1", {PluginNet::open, PluginNet::open}); }

  template <typename Function>
  static Function* functionOf(const char* name) {
    void* library = ::dlopen(pluginOf(GetParam()), RTLD_NOW);
    auto* found = reinterpret_cast<Function*>(::dlsym(library, name));
    ::dlclose(library);  // the library stays loaded for ever
    return found;
  }

  // Returns the number of requests that were unfinished when their communicators were closed, since the previous call
  // of left().
  static uint64_t left() { return functionOf<uint64_t()>("jccl_test_plugin_left")(); }

  // Returns the numbers of calls of isend, irecv and test by both ranks since the previous call of counts().
  static std::array<uint64_t, 3> counts() {
    std::array<uint64_t, 3> numbers{};
    functionOf<void(uint64_t*)>("jccl_test_plugin_counts")(numbers.data());
    return numbers;
  }
};

TEST_P(NetPlugin, IsFoundInTheNewestVersionThatItSpeaks) {
  std::shared_ptr<plugin::NetPlugin> plugin;
  const Status opened = plugin::openNetPlugin(pluginOf(GetParam()), &plugin);
  ASSERT_TRUE(opened.isOk()) << opened.message();
  EXPECT_EQ(GetParam(), plugin->version());
  EXPECT_EQ("Test", plugin->name());
  ASSERT_TRUE(plugin->init(1).isOk());
  int count = 0;
  ASSERT_TRUE(plugin->devices(&count).isOk());
  ASSERT_EQ(1, count);
  plugin::DeviceProperties properties;
  ASSERT_TRUE(plugin->properties(0, &properties).isOk());
  EXPECT_EQ("test0", properties.name);
  EXPECT_EQ("", properties.pciPath);
  EXPECT_EQ(10'000, properties.speedMbps);
  EXPECT_EQ(65'536, properties.maxComms);
  EXPECT_TRUE(properties.reachesHost);
  EXPECT_FALSE(properties.reachesCuda);
  EXPECT_EQ(size_t{1} << 30, properties.maxMessageBytes);
  const Status refused = plugin->properties(1, &properties);
  EXPECT_EQ(Code::Transport, refused.code());
  EXPECT_NE(std::string::npos, refused.message().find("getProperties returned 4 (invalid argument)"))
      << refused.message();
}

TEST_P(NetPlugin, ASlotThatDoesNotFitTheReceiverIsRefused) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(ConnectionShape(4096, 4096, 4096));
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 8192);
  pair.net[0]->kick();
  EXPECT_FALSE(drive(*pair.net[1], [] { return false; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[1], &peer);
  EXPECT_EQ(0, peer);
  EXPECT_NE(std::string::npos, text.find("plugin=Test device=test0")) << text;
}

// Connects the ranks in both directions. No message uses the connection from rank 1 to rank 0.
TEST_P(NetPlugin, EndsThatCloseTogetherLeaveNothingInFlight) {
  Pair pair = pairOf();
  Producer producer(kShape), idle(kShape);
  Consumer consumer(kShape), waiting(kShape);
  pair.connectOneWay(producer, consumer);
  pair.send(1, 0, idle);
  pair.receive(0, 0, waiting);
  transfer(pair, producer, consumer, Protocol::Simple, {0, 1, 70'000, 256 * 1024, 8});
  left();
  std::thread other([&] { pair.net[1]->close(kCloseNanos); });
  pair.net[0]->close(kCloseNanos);
  other.join();
  EXPECT_FALSE(pair.net[0]->failed());
  EXPECT_FALSE(pair.net[1]->failed());
  EXPECT_EQ(0u, left());
}

// Receives that were posted in advance stay unfinished if the other end closes later.
TEST_P(NetPlugin, AnEndThatClosesLaterIsNotWaitedForLong) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {0, 1, 70'000});
  left();
  const int64_t begun = monotonicNanos();
  for (const auto& net : pair.net) {
    net->close(kCloseNanos);
    EXPECT_FALSE(net->failed());
  }
  EXPECT_LT(monotonicNanos() - begun, kCloseNanos / 2);
  EXPECT_GT(left(), 0u);
}

// Counts the polls of a transport.
class Polls final : public ProgressCallback {
 public:
  int poll(int64_t /*nowNanos*/) override {
    ++count;
    return 0;
  }
  int64_t nextDeadlineNanos() const override { return INT64_MAX; }
  uint64_t count = 0;
};

// The receiver's slots are full, so several sends stay unfinished. The receiver has no request that it could test.
TEST_P(NetPlugin, ASenderTestsOnlyItsOldestSendAtEachPoll) {
  constexpr uint32_t kBytes = 250'000;
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  const auto polls = std::make_shared<Polls>();
  pair.net[0]->addCallback(polls);
  for (uint32_t i = 0; i < kSlots; ++i) producer.send(Protocol::Simple, kBytes);
  const SlotHeader* last = consumer.memory().slotHeader(kSlots - 1);
  ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == kSlots; }));
  ASSERT_TRUE(drive(*pair.net[1], [&] { return last->published.load() == kSlots; }));
  // Fills the buffers of the kernel, and counts while no send ends.
  uint64_t freed = 0, tests = 0, polled = 0;
  const int64_t deadline = monotonicNanos() + 20'000'000'000;
  do {
    const auto full = [&] {
      if (producer.hasCredit()) producer.send(Protocol::Simple, kBytes);
      return !producer.hasCredit();
    };
    ASSERT_TRUE(drive(*pair.net[0], full));
    freed = producer.freed();
    pair.net[0]->run([&] {
      counts();
      polled = polls->count;
    });
    drive(
        *pair.net[0], [] { return false; }, 100'000'000);
    pair.net[0]->run([&] {
      tests = counts()[2];
      polled = polls->count - polled;
    });
  } while (producer.freed() != freed && monotonicNanos() < deadline);
  ASSERT_EQ(freed, producer.freed());
  EXPECT_EQ(kSlots, producer.step() - freed);
  EXPECT_GT(polled, 10u);
  EXPECT_LE(tests, polled);
  for (uint64_t i = 0; i < producer.step(); ++i) {
    ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, kBytes); })) << i;
    pair.net[0]->kick();
  }
  EXPECT_EQ(0u, consumer.wrong());
}

INSTANTIATE_TEST_SUITE_P(Versions, NetPlugin, ::testing::Range(plugin::kOldestVersion, plugin::kNewestVersion + 1),
                         [](const auto& info) { return "V" + std::to_string(info.param); });

}  // namespace
}  // namespace jccl::net_plugin_test
