// Tests of SIMPLE slots in GPU memory over a network plug-in. Ordinary memory stands for GPU memory. The test's plug-in
// stores received data there only when it is flushed.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fd.h"
#include "test/net_scenarios.h"
#include "test/test_plugins.h"
#include "transport/net_plugin.h"

namespace jccl::net_plugin_gpu_test {
namespace {

using test::Consumer;
using test::Pair;
using test::pluginOf;
using test::Producer;

const ConnectionShape kShape(64 * 1024, 16 * 1024, 16 * 1024);

class NetPluginGpuMemory : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { registersBy("cuda"); }
  void TearDown() override {
    ::unsetenv("JCCL_TEST_PLUGIN_GPUS");   // NOLINT(concurrency-mt-unsafe)
    ::unsetenv("JCCL_TEST_PLUGIN_FAULT");  // NOLINT(concurrency-mt-unsafe)
  }
  static void registersBy(const char* way) {
    ::setenv("JCCL_TEST_PLUGIN_GPUS", way, 1);  // NOLINT(concurrency-mt-unsafe)
  }

  static Pair pairOf() {
    const auto choose = [](NetConfig& config) {
      config.plugin = pluginOf(GetParam());
      EXPECT_TRUE(NetDeviceNumbers::parse("0 test0\n", &config.devices).isOk());
    };
    return Pair(choose, "127.0.0.1", {PluginNet::open, PluginNet::open});
  }

  // Returns the GPU memory of a rank, which outlives the transports.
  uint8_t* place(int rank) {
    std::vector<uint8_t>& memory = memory_[Pair::at(rank)];
    memory.resize(kShape.simpleSlotsBytes());
    return memory.data();
  }

  Status reach(Pair& pair, int rank, int descriptor = -1) {
    return pair.net[Pair::at(rank)]->setDeviceMemory({place(rank), kShape.simpleSlotsBytes(), descriptor}, {0});
  }

  // Transfers messages with the SIMPLE slots of the chosen ends in GPU memory.
  void transferBetween(bool fromGpu, bool toGpu, int descriptor = -1) {
    Pair pair = pairOf();
    Producer producer(kShape, fromGpu ? place(0) : nullptr);
    Consumer consumer(kShape, toGpu ? place(1) : nullptr);
    for (const int rank : {0, 1}) {
      if (!(rank == 0 ? fromGpu : toGpu)) continue;
      const Status reached = reach(pair, rank, descriptor);
      ASSERT_TRUE(reached.isOk()) << reached.message();
    }
    pair.connectOneWay(producer, consumer);
    const std::vector<uint32_t> sizes = test::sizesOf(kShape, Protocol::Simple);
    test::transfer(pair, producer, consumer, Protocol::Simple, sizes);
    for (const int rank : {0, 1}) pair.net[Pair::at(rank)]->close(10'000'000'000);
  }

 private:
  std::array<std::vector<uint8_t>, 2> memory_;
};

TEST_P(NetPluginGpuMemory, EveryMessageArrivesWhole) {
  transferBetween(true, true);
  transferBetween(true, false);
  transferBetween(false, true);
}

TEST_P(NetPluginGpuMemory, IsRegisteredAsADmaBufIfThePluginAcceptsOne) {
  registersBy("dmabuf");
  const UniqueFd descriptor(::memfd_create("gpu", MFD_CLOEXEC));
  ASSERT_TRUE(descriptor);
  transferBetween(true, true, descriptor.get());
}

TEST_P(NetPluginGpuMemory, IsRegisteredByItsAddressIfTheDriverExportsNoDmaBuf) {
  registersBy("dmabuf");
  Pair pair = pairOf();
  Producer producer(kShape, place(0));
  Consumer consumer(kShape);
  ASSERT_TRUE(reach(pair, 0).isOk());
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 100);
  pair.net[0]->kick();
  EXPECT_FALSE(test::drive(*pair.net[0], [] { return false; }));
  int peer = -1;
  const std::string text = test::errorOf(*pair.net[0], &peer);
  EXPECT_NE(std::string::npos, text.find("regMr returned 4 (invalid argument)")) << text;
}

TEST_P(NetPluginGpuMemory, IsRefusedIfTheDeviceReachesNoGpus) {
  ::unsetenv("JCCL_TEST_PLUGIN_GPUS");  // NOLINT(concurrency-mt-unsafe)
  Pair pair = pairOf();
  const Status reached = reach(pair, 0);
  EXPECT_EQ(Code::Invalid, reached.code());
  EXPECT_EQ("plugin=Test device=test0 does not reach GPUs", reached.message());
  const Status unknown = pair.net[0]->setDeviceMemory({place(0), 4096, -1}, {77});
  EXPECT_NE(std::string::npos, unknown.message().find("NET/77 of the plan is not in use on this rank"))
      << unknown.message();
}

// Data that has arrived must not be reported if its flush fails. The connection ends with an error that says why.
TEST_P(NetPluginGpuMemory, AFlushThatFailsEndsTheConnection) {
  ::setenv("JCCL_TEST_PLUGIN_FAULT", "fails=iflush", 1);  // NOLINT(concurrency-mt-unsafe)
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape, place(1));
  ASSERT_TRUE(reach(pair, 1).isOk());
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 300);
  pair.net[0]->kick();
  EXPECT_FALSE(test::drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 300); }));
  int peer = -1;
  const std::string text = test::errorOf(*pair.net[1], &peer);
  EXPECT_NE(std::string::npos, text.find("iflush returned 3 (internal error)")) << text;
  EXPECT_EQ(0u, consumer.step()) << "a message was published that was not flushed";
}

INSTANTIATE_TEST_SUITE_P(Versions, NetPluginGpuMemory,
                         ::testing::Range(plugin::kOldestVersion, plugin::kNewestVersion + 1),
                         [](const auto& info) { return "V" + std::to_string(info.param); });

}  // namespace
}  // namespace jccl::net_plugin_gpu_test
