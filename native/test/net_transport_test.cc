// Tests of the network transport over sockets.
#include "transport/net_transport.h"

#include <gtest/gtest.h>
#include <time.h>

#include <array>
#include <thread>

#include "test/net_scenarios.h"

namespace jccl::net_transport_test {
namespace {

using test::configOf;
using test::Consumer;
using test::drive;
using test::errorOf;
using test::Pair;
using test::Producer;
using test::transfer;

const ConnectionShape kShape(256 * 1024, 16 * 1024, 16 * 1024);

struct Shape {
  int streams;
  Protocol protocol;
  const char* address;
};

// Without this operator, GoogleTest prints the object's bytes, including uninitialised padding.
std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << test::titleOf(shape.protocol) << " streams=" << shape.streams << " address=" << shape.address;
}

class NetTransfers : public ::testing::TestWithParam<Shape> {};

TEST_P(NetTransfers, AllSizesArriveInOrderAndWhole) {
  Pair pair([](NetConfig& config) { config.streams = GetParam().streams; }, GetParam().address);
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, GetParam().protocol, test::sizesOf(kShape, GetParam().protocol));
}

std::string nameOf(const ::testing::TestParamInfo<Shape>& info) {
  return std::string(test::titleOf(info.param.protocol)) + "Over" + std::to_string(info.param.streams) +
         (info.param.address[0] == ':' ? "StreamsV6" : "Streams");
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetTransfers,
                         ::testing::Values(Shape{1, Protocol::Simple, "127.0.0.1"},
                                           Shape{2, Protocol::Simple, "127.0.0.1"},
                                           Shape{5, Protocol::Simple, "127.0.0.1"}, Shape{1, Protocol::LL, "127.0.0.1"},
                                           Shape{3, Protocol::LL, "127.0.0.1"}, Shape{1, Protocol::LL128, "127.0.0.1"},
                                           Shape{3, Protocol::LL128, "127.0.0.1"}, Shape{2, Protocol::Simple, "::1"}),
                         nameOf);

TEST(NetTransport, ProtocolsAlternateOnOneConnection) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  const std::array<Protocol, 3> protocols = {Protocol::LL, Protocol::Simple, Protocol::LL128};
  for (uint32_t i = 0; i < 60; ++i) {
    const Protocol protocol = protocols[i * 7 % 3];
    producer.send(protocol, 1 + i % 5);
    pair.net[0]->kick();
    ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(protocol, 1 + i % 5); })) << i;
    ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == i + 1; }));
  }
  EXPECT_EQ(0u, consumer.wrong());
}

TEST(NetTransport, TinySocketBuffersOnlyCostTime) {
  Pair pair([](NetConfig& config) {
    config.sendBufferBytes = 1;
    config.receiveBufferBytes = 1;
    config.streams = 2;
  });
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, std::vector<uint32_t>(20, 100'003));
}

void threeThreads(NetConfig& config) {
  config.threads = 3;
  config.streams = 6;
  config.stripeBytes = 4096;
}

TEST(NetTransport, SeveralThreadsDeliverAllSizesInOrderAndWhole) {
  Pair pair(threeThreads);
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  std::vector<uint32_t> sizes = test::sizesOf(kShape, Protocol::Simple);
  for (int i = 0; i < 200; ++i) sizes.push_back(200'000 + i);
  transfer(pair, producer, consumer, Protocol::Simple, sizes);
}

TEST(NetTransport, SeveralThreadsServeManyChannelsInBothDirections) {
  Pair pair(threeThreads);
  test::sendBothWays(pair, 4, 100);
}

TEST(NetTransport, AMessageGoesToTheReceiverPostedAddress) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  std::vector<uint8_t> place(1000);
  postAddress(consumer, 0, place);
  producer.send(Protocol::Simple, 1000);
  pair.net[0]->kick();
  const SlotHeader* header = consumer.memory().slotHeader(0);
  ASSERT_TRUE(drive(*pair.net[1], [&] { return header->published.load(std::memory_order_acquire) == 1; }));
  EXPECT_EQ(place.data(), consumer.memory().zeroCopySlot(0).userData);
  EXPECT_EQ(0, std::memcmp(place.data(), producer.memory().simpleSlot(0), place.size()));
}

// An adapter of another host can write to a connection's block. Words in the block must never be used as addresses.
TEST(NetTransport, WordsThatAPeerWritesIntoABlockAreNeverUsedAsAddresses) {
  std::vector<uint8_t> secret(4096, 0x5a);
  Consumer consumer(kShape);
  RecvConnection connection;
  connection.memory = consumer.memory();
  connection.transport = TransportKind::Socket;
  SlotHeader* header = connection.memory.slotHeader(0);
  const auto fill = [&](uint64_t word) {
    for (size_t at = 0; at + sizeof word <= sizeof(SlotHeader); at += sizeof word) {
      std::memcpy(reinterpret_cast<uint8_t*>(header) + at, &word, sizeof word);
    }
  };
  fill(reinterpret_cast<uintptr_t>(secret.data()));
  EXPECT_EQ(connection.memory.simpleChunk(0, 100), connection.simpleChunk(100));

  // Writes the words that would post the address of `secret` for the payload. A transport that read them from the block
  // would overwrite `secret`.
  Pair pair;
  Producer producer(kShape);
  pair.connectOneWay(producer, consumer);
  fill(0);
  const std::array<uint64_t, 3> posted = {reinterpret_cast<uintptr_t>(secret.data()), 1000, 1};
  std::memcpy(reinterpret_cast<uint8_t*>(header) + 32, posted.data(), sizeof posted);
  transfer(pair, producer, consumer, Protocol::Simple, {1000});
  EXPECT_EQ(std::vector<uint8_t>(4096, 0x5a), secret);
}

TEST(NetTransport, PostedMemoryIsLeftAloneAfterItIsRevoked) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {8});
  std::vector<uint8_t> place(1000);
  postAddress(consumer, 1, place);
  pair.net[1]->poll();  // lets the network read the posted address
  pair.net[1]->revoke();
  producer.send(Protocol::Simple, 1000);
  ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == 2; }));
  const int64_t end = monotonicNanos() + 50'000'000;
  while (monotonicNanos() < end) pair.net[1]->poll();
  EXPECT_EQ(std::vector<uint8_t>(1000), place);
  EXPECT_EQ(1u, consumer.memory().slotHeader(0)->published.load());
  EXPECT_EQ(0u, consumer.memory().slotHeader(1)->published.load());
}

TEST(NetTransport, AConnectionThatComesBeforeItsReceiverIsKept) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.send(0, 2, producer);
  producer.send(Protocol::LL, 9);
  ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  pair.receive(1, 2, consumer);
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::LL, 9); }));
  EXPECT_EQ(0u, consumer.wrong());
}

TEST(NetTransport, AnIdleEngineLeavesTheProcessorAlone) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {1, 2, 3});
  // Most of this data is never received: it stays in slots of the receiver or in the kernel.
  for (int i = 0; i < 4; ++i) producer.send(Protocol::Simple, 250'000);
  pair.net[0]->kick();
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 250'000); }));
  pair.net[1]->kick();
  timespec before;
  timespec after;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  pair.net[1]->waitForEvents(300'000'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the test measures the CPU time of this pause
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const int64_t used = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  EXPECT_LT(used, 60'000'000);
}

TEST(NetTransport, AMissingListenerIsNamedAfterTheTimeLimit) {
  Pair pair([](NetConfig& config) { config.connectTimeoutNanos = 200'000'000; });
  Producer producer(kShape);
  pair.net[1].reset();
  pair.send(0, 0, producer);
  producer.send(Protocol::Simple, 1);
  EXPECT_FALSE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[0], &peer);
  EXPECT_EQ(1, peer);
  EXPECT_NE(std::string::npos, text.find("no connection to rank 1")) << text;
  EXPECT_NE(std::string::npos, text.find("errno=111 (Connection refused)")) << text;
  EXPECT_NE(std::string::npos, text.find("no process listens there")) << text;
}

TEST(NetTransport, AnotherSecretDoesNotConnect) {
  Pair pair([](NetConfig& config) {
    config.connectTimeoutNanos = 300'000'000;
    if (config.rank == 0) config.secret.assign(16, 43);
  });
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 1);
  EXPECT_FALSE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[0], &peer);
  EXPECT_EQ(1, peer);
  // Does not check why the last attempt failed, because the time limit may have cut that attempt off.
  // SocketListenerTest checks the reasons.
  EXPECT_NE(std::string::npos, text.find("no connection to rank 1")) << text;
  EXPECT_FALSE(pair.net[1]->failed());
}

TEST(NetTransport, AnotherNumberOfStreamsIsRefusedWithItsReason) {
  Pair pair([](NetConfig& config) { config.streams = 1 + config.rank; });
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 1);
  EXPECT_FALSE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[0], &peer);
  EXPECT_NE(std::string::npos, text.find("number of streams differs")) << text;
}

TEST(NetTransport, ASlotThatDoesNotFitTheReceiverIsRefused) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(ConnectionShape(4096, 4096, 4096));
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 8192);
  pair.net[0]->kick();
  EXPECT_FALSE(drive(*pair.net[1], [] { return false; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[1], &peer);
  EXPECT_EQ(0, peer);
  EXPECT_NE(std::string::npos, text.find("total_bytes=8192")) << text;
  EXPECT_NE(std::string::npos, text.find("capacity_bytes=4096")) << text;
}

TEST(NetTransport, AKickWakesAWaiterThatNothingElseWould) {
  Pair pair;
  const int64_t start = monotonicNanos();
  std::atomic<bool> entered{false};
  std::thread kicker([&] {
    while (!entered.load()) std::this_thread::yield();
    pair.net[0]->kick();
  });
  pair.net[0]->poll();
  entered.store(true);
  pair.net[0]->waitForEvents(10'000'000'000);
  kicker.join();
  EXPECT_LT(monotonicNanos() - start, 5'000'000'000);
}

TEST(NetTransport, OnlyConnectionsInUseAreDriven) {
  Pair pair;
  std::vector<std::unique_ptr<Producer>> producers;
  std::vector<std::unique_ptr<Consumer>> consumers;
  std::array<FirstUse*, 4> firstUses{};
  for (int channel = 0; channel < 4; ++channel) {
    producers.push_back(std::make_unique<Producer>(kShape));
    consumers.push_back(std::make_unique<Consumer>(kShape));
    pair.kept.push_back(producers.back()->block());
    FirstUse** firstUse = &firstUses[Pair::at(channel)];
    ASSERT_TRUE(pair.net[0]->sendConnection(1, channel, producers.back()->memory(), firstUse).isOk());
    pair.receive(1, channel, *consumers.back());
  }
  EXPECT_EQ(0u, pair.net[0]->active());
  EXPECT_EQ(0u, pair.net[1]->active());
  producers[2]->send(Protocol::Simple, 100);
  firstUses[2]->noteFirstUse();
  pair.net[0]->kick();
  EXPECT_EQ(1u, pair.net[0]->active());
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumers[2]->tryReceive(Protocol::Simple, 100); }));
  EXPECT_EQ(1u, pair.net[1]->active());
  EXPECT_EQ(0u, consumers[2]->wrong());
}

TEST(NetTransport, NoCommonAddressFamilyIsReportedAtOnce) {
  Pair four;
  Pair six({}, "::1");
  const Status probed = four.net[0]->probe(six.info[1]);
  EXPECT_EQ(Code::Transport, probed.code());
  EXPECT_NE(std::string::npos, probed.message().find("common family")) << probed.message();
  EXPECT_TRUE(four.net[0]->probe(four.info[1]).isOk());
}

TEST(NetTransport, DamagedConnectInformationIsRefused) {
  Pair pair;
  std::vector<uint8_t> info = pair.info[1];
  info.pop_back();
  EXPECT_EQ(Code::Transport, pair.net[0]->addPeer(1, info).code());
  EXPECT_EQ(Code::Transport, pair.net[0]->addPeer(1, {}).code());
  info = pair.info[1];
  info[5] = 9;
  EXPECT_EQ(Code::Transport, pair.net[0]->addPeer(1, info).code());
  EXPECT_EQ(Code::Invalid, pair.net[0]->addPeer(0, pair.info[1]).code());
  EXPECT_EQ(Code::Invalid, pair.net[0]->addPeer(2, pair.info[1]).code());
}

}  // namespace
}  // namespace jccl::net_transport_test
