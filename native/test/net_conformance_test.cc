// Tests that every network must pass: sockets, verbs on fake adapters, plug-ins of all versions, and the simulated
// network of the fault matrix.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "test/faulty_net.h"
#include "test/net_scenarios.h"
#include "test/test_plugins.h"
#include "transport/net_ib.h"
#include "transport/net_plugin.h"

namespace jccl::test::net_conformance_test {
namespace {

const ConnectionShape kShape(256 * 1024, 16 * 1024, 16 * 1024);

struct Network {
  const char* name;
  std::function<NetMaker()> maker;
  std::function<void(NetConfig&)> change;
  bool betweenProcesses = true;
  bool isEncrypted = false;
};

std::ostream& operator<<(std::ostream& out, const Network& network) { return out << network.name; }

Network sockets(const char* name, int streams, int threads) {
  return {name, [] { return NetMaker{}; },
          [=](NetConfig& config) {
            config.streams = streams;
            config.threads = threads;
          }};
}

Network plugIn(const char* name, int version) {
  return {name, [] { return NetMaker{PluginNet::open}; },
          [=](NetConfig& config) { config.plugin = pluginOf(version); }};
}

Network fakeVerbs(const char* name, int queuePairs) {
  return {name, [] { return NetMaker{IbNet::open}; },
          [=](NetConfig& config) {
            config.ib.adapter.library = JCCL_FAKE_VERBS;
            config.ib.queuePairs = queuePairs;
          },
          false};
}

// The same network with encrypted TCP connections.
Network encrypted(Network network, const char* name) {
  network.name = name;
  network.isEncrypted = true;
  network.change = [change = network.change](NetConfig& config) {
    change(config);
    ASSERT_TRUE(crypto::Library::open(&config.crypto));
  };
  return network;
}

Network simulated() {
  return {"simulated",
          [] {
            NetFaults faults;
            faults.registers = true;
            return FaultyNetwork(faults).maker();
          },
          [](NetConfig&) {}, false};
}

class NetConformance : public ::testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    std::shared_ptr<const crypto::Library> library;
    if (!GetParam().isEncrypted) return;
    if (Status opened = crypto::Library::open(&library); !opened) GTEST_SKIP() << opened.message();
  }

  static Pair pairOf(const std::function<void(NetConfig&)>& more = {}) {
    const NetMaker maker = GetParam().maker();
    return Pair(
        [&](NetConfig& config) {
          GetParam().change(config);
          if (more) more(config);
        },
        "127.0.0.1", {maker, maker});
  }

  // Drives both ranks until one fails. Returns that rank, or -1 if none fails within `limitNanos`.
  static int firstToFail(Pair& pair, int64_t limitNanos) {
    const int64_t end = monotonicNanos() + limitNanos;
    while (monotonicNanos() < end) {
      for (const int rank : {0, 1}) {
        NetTransport& net = *pair.net[Pair::at(rank)];
        if (net.failed()) return rank;
        if (net.poll() == 0) net.waitForEvents(100'000);
      }
    }
    return -1;
  }
};

TEST_P(NetConformance, AllSizesArriveInOrderAndWhole) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, sizesOf(kShape, Protocol::Simple));
}

TEST_P(NetConformance, ManyChannelsInBothDirectionsAtOnce) {
  Pair pair = pairOf();
  sendBothWays(pair, 4, 60);
}

TEST_P(NetConformance, AFinIsNoFailure) {
  Pair pair = pairOf();
  sendFin(pair, kShape);
}

TEST_P(NetConformance, AKilledPeerIsNamedAtOnce) {
  if (!GetParam().betweenProcesses) GTEST_SKIP() << "it does not reach another process";
  killAPeer(GetParam().maker(), GetParam().change);
}

TEST_P(NetConformance, ARankThatEndsDuringTrafficFailsTheOther) {
  // With larger buffers, all data could be on its way when rank 1 ends. Then rank 0 would not fail.
  Pair pair = pairOf([](NetConfig& config) { config.sendBufferBytes = config.receiveBufferBytes = 1; });
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {100, 200});
  for (int i = 0; i < 4; ++i) producer.send(Protocol::Simple, 200'000);
  pair.net[0]->poll();
  pair.net[1].reset();
  const int64_t start = monotonicNanos();
  while (producer.hasCredit() && monotonicNanos() - start < 100'000'000) producer.send(Protocol::Simple, 200'000);
  EXPECT_FALSE(drive(
      *pair.net[0], [&] { return producer.hasCredit() && false; }, 10'000'000'000));
  int peer = -1;
  EXPECT_EQ(Code::Transport, pair.net[0]->error(&peer).code());
  EXPECT_EQ(1, peer);
  EXPECT_LT(monotonicNanos() - start, 8'000'000'000);
}

TEST_P(NetConformance, PublishedMessagesLeaveWithoutAWaitingThread) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {1});
  for (int i = 0; i < 7; ++i) producer.send(Protocol::Simple, 50'000);
  pair.net[0]->kick();  // from here on, only the engine's own thread moves data of rank 0
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 50'000); }));
  }
  EXPECT_EQ(0u, consumer.wrong());
}

TEST_P(NetConformance, ASenderHasCreditOnlyForTheSlotsOfALateReceiver) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {1});
  uint32_t sent = 0;
  const int64_t end = monotonicNanos() + 300'000'000;
  while (monotonicNanos() < end) {
    if (producer.hasCredit() && sent < 200) {
      producer.send(Protocol::Simple, 100'000 + sent++);
    } else if (pair.net[0]->poll() == 0) {
      pair.net[0]->waitForEvents(1'000'000);
    }
  }
  pair.net[0]->kick();
  for (uint32_t i = 0; i < sent; ++i) {
    ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 100'000 + i); })) << i;
  }
  EXPECT_EQ(0u, consumer.wrong());
  ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == sent + 1; }));
}

TEST_P(NetConformance, AConnectionThatComesBeforeItsReceiverIsKept) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.send(0, 2, producer);
  producer.send(Protocol::Simple, 9);
  drive(
      *pair.net[0], [&] { return producer.freed() == 1; }, 50'000'000);
  pair.receive(1, 2, consumer);
  pair.net[0]->kick();
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 9); }));
  EXPECT_EQ(0u, consumer.wrong());
}

TEST_P(NetConformance, ConnectionsAreMadeAheadOnRequest) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  std::atomic<bool> connected{false};
  std::thread accepts([&] { drive(*pair.net[1], [&] { return connected.load(); }); });
  const Status ahead = pair.net[0]->connectAhead({{1, 0}});
  connected.store(true);
  accepts.join();
  EXPECT_TRUE(ahead.isOk()) << ahead.message();
  transfer(pair, producer, consumer, Protocol::Simple, {1, 2, 3});
}

TEST_P(NetConformance, ASlotThatDoesNotFitTheReceiverIsRefused) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(ConnectionShape(4096, 4096, 4096));
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 8192);
  const int failed = firstToFail(pair, 10'000'000'000);
  ASSERT_NE(-1, failed);
  int peer = -1;
  EXPECT_EQ(Code::Transport, pair.net[Pair::at(failed)]->error(&peer).code());
  EXPECT_EQ(1 - failed, peer);
  EXPECT_EQ(0u, consumer.memory().slotHeader(0)->published.load());
}

TEST_P(NetConformance, AfterRevokingNothingIsReceivedIntoUserMemory) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {8});
  std::vector<uint8_t> place(1000);
  pair.net[1]->addUserMemory(place.data(), place.size(), true);
  postAddress(consumer, 1, place);
  drive(
      *pair.net[1], [] { return false; }, 2'000'000);  // gives the network time to read the posted address
  pair.net[1]->revoke();
  pair.net[1]->clearUserMemory();
  producer.send(Protocol::Simple, 1000);
  drive(
      *pair.net[0], [&] { return producer.freed() == 2; }, 50'000'000);
  drive(
      *pair.net[1], [] { return false; }, 50'000'000);
  EXPECT_EQ(std::vector<uint8_t>(1000), place);
  EXPECT_EQ(0u, consumer.memory().slotHeader(1)->published.load());
}

TEST_P(NetConformance, AMessageGoesToTheReceiverPostedAddressOrToItsSlot) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  for (uint64_t step = 0; step < 20; ++step) {
    std::vector<uint8_t> place(1000);
    pair.net[1]->addUserMemory(place.data(), place.size(), true);
    ZeroCopySlot& slot = consumer.memory().zeroCopySlot(step);
    postAddress(consumer, step, place);
    pair.net[1]->poll();
    producer.send(Protocol::Simple, 1000);
    pair.net[0]->kick();
    const SlotHeader* header = consumer.memory().slotHeader(step);
    ASSERT_TRUE(drive(*pair.net[1], [&] { return header->published.load(std::memory_order_acquire) == step + 1; }));
    const uint8_t* data = slot.userData != nullptr ? slot.userData : consumer.memory().simpleSlot(step);
    EXPECT_TRUE(slot.userData == nullptr || slot.userData == place.data());
    EXPECT_EQ(0, std::memcmp(data, producer.memory().simpleSlot(step), place.size()));
    consumer.memory().head->head.store(step + 1, std::memory_order_release);
    ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == step + 1; }));
    pair.net[1]->clearUserMemory();
  }
}

TEST_P(NetConformance, AnIdleNetworkLeavesTheProcessorAlone) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {1, 2, 3});
  ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == 3; }));
  const auto used = [] {
    timespec now;
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int64_t before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the test measures the CPU time of this pause
  EXPECT_LT(used() - before, 60'000'000);
}

INSTANTIATE_TEST_SUITE_P(Networks, NetConformance,
                         ::testing::Values(sockets("sockets", 1, 1), sockets("sockets_3_streams", 3, 1),
                                           sockets("sockets_3_threads", 6, 3), fakeVerbs("fake_verbs", 1),
                                           fakeVerbs("fake_verbs_3_qps", 3), plugIn("plugin_v6", 6),
                                           plugIn("plugin_v7", 7), plugIn("plugin_v8", 8), plugIn("plugin_v9", 9),
                                           plugIn("plugin_v10", 10), plugIn("plugin_v11", 11), plugIn("plugin_v12", 12),
                                           encrypted(sockets("", 1, 1), "encrypted_sockets"),
                                           encrypted(sockets("", 6, 3), "encrypted_sockets_3_threads"),
                                           encrypted(fakeVerbs("", 1), "encrypted_control_of_verbs"),
                                           encrypted(plugIn("", 12), "encrypted_control_of_plugin"), simulated()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace jccl::test::net_conformance_test
