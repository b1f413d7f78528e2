#include "transport/net_transport.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "test/net_pair.h"

namespace jccl {
namespace {

using test::configOf;
using test::Consumer;
using test::drive;
using test::Producer;

const ConnectionShape kShape(256 * 1024, 16 * 1024, 16 * 1024);

// Two ranks in one process, connected both ways on channel 0 unless said otherwise.
class Pair {
 public:
  explicit Pair(const std::function<void(NetConfig&)>& change = {}, const std::string& address = "127.0.0.1") {
    for (int rank : {0, 1}) {
      NetConfig config = configOf(rank, 2);
      if (change) change(config);
      const Status created = NetTransport::create(config, &net[at(rank)]);
      EXPECT_TRUE(created.isOk()) << created.message();
      const Status listening = net[at(rank)]->listen({address}, &info[at(rank)]);
      EXPECT_TRUE(listening.isOk()) << listening.message();
      EXPECT_LE(info[at(rank)].size(), NetListener::kMaxInfoBytes);
    }
    for (int rank : {0, 1}) EXPECT_TRUE(net[at(rank)]->addPeer(1 - rank, info[at(1 - rank)]).isOk());
  }

  void connectOneWay(Producer& producer, Consumer& consumer, int channel = 0) {
    send(0, channel, producer);
    receive(1, channel, consumer);
  }

  void send(int rank, int channel, Producer& producer) {
    kept.push_back(producer.block());
    const Status status = net[at(rank)]->sendConnection(1 - rank, channel, producer.memory());
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  void receive(int rank, int channel, Consumer& consumer) {
    kept.push_back(consumer.block());
    const Status status = net[at(rank)]->recvConnection(1 - rank, channel, consumer.memory());
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  static size_t at(int rank) { return static_cast<size_t>(rank); }

  std::vector<test::Block> kept;  // the slots outlive the transports
  std::array<std::unique_ptr<NetTransport>, 2> net;
  std::array<std::vector<uint8_t>, 2> info;
};

std::string errorOf(NetTransport& net, int* peer) { return net.error(peer).message(); }

// Sends `sizes` from rank 0, receives at rank 1, each on its own thread.
void transfer(Pair& pair, Producer& producer, Consumer& consumer, Protocol protocol,
              const std::vector<uint32_t>& sizes) {
  std::thread sender([&] {
    for (const uint32_t units : sizes) {
      ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.hasCredit(); }));
      producer.send(protocol, units);
    }
    pair.net[0]->kick();
  });
  for (const uint32_t units : sizes) {
    int peer;
    ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(protocol, units); }))
        << "step=" << consumer.step() << " " << errorOf(*pair.net[1], &peer);
  }
  sender.join();
  EXPECT_EQ(0u, consumer.wrong());
  EXPECT_FALSE(pair.net[0]->failed());
  EXPECT_FALSE(pair.net[1]->failed());
}

struct Shape {
  int streams;
  Protocol protocol;
  const char* address;
};

class NetTransfers : public ::testing::TestWithParam<Shape> {};

TEST_P(NetTransfers, AllSizesArriveInOrderAndWhole) {
  Pair pair([](NetConfig& config) { config.streams = GetParam().streams; }, GetParam().address);
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  const uint32_t most = GetParam().protocol == Protocol::Simple ? kShape.simpleSlotBytes()
                        : GetParam().protocol == Protocol::LL   ? kShape.llSlotBytes() / kLLCellBytes
                                                                : kShape.ll128SlotBytes() / kLL128LineBytes;
  std::vector<uint32_t> sizes;
  for (uint32_t units = 0; units < 40; ++units) sizes.push_back(units % most);
  for (uint32_t units = 1; units <= most; units *= 2) {
    for (uint32_t near : {units - 1, units, units + 1}) sizes.push_back(std::min(near, most));
  }
  // An LL slot always has its check cell, an LL128 slot its first line; only SIMPLE knows empty slots.
  if (GetParam().protocol != Protocol::Simple) std::replace(sizes.begin(), sizes.end(), 0u, 1u);
  transfer(pair, producer, consumer, GetParam().protocol, sizes);
}

std::string nameOf(const ::testing::TestParamInfo<Shape>& info) {
  static const std::array<const char*, 3> names = {"LL", "LL128", "Simple"};
  return std::string(names[static_cast<size_t>(info.param.protocol)]) + "Over" + std::to_string(info.param.streams) +
         (info.param.address[0] == ':' ? "StreamsV6" : "Streams");
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetTransfers,
                         ::testing::Values(Shape{1, Protocol::Simple, "127.0.0.1"},
                                           Shape{2, Protocol::Simple, "127.0.0.1"},
                                           Shape{5, Protocol::Simple, "127.0.0.1"}, Shape{1, Protocol::LL, "127.0.0.1"},
                                           Shape{3, Protocol::LL, "127.0.0.1"}, Shape{1, Protocol::LL128, "127.0.0.1"},
                                           Shape{3, Protocol::LL128, "127.0.0.1"}, Shape{2, Protocol::Simple, "::1"}),
                         nameOf);

TEST(NetTransport, ProtocolsTakeTurnsOnOneConnection) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  const std::array<Protocol, 3> turn = {Protocol::LL, Protocol::Simple, Protocol::LL128};
  for (uint32_t i = 0; i < 60; ++i) {
    const Protocol protocol = turn[i * 7 % 3];
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

TEST(NetTransport, ManyChannelsBothWaysAtOnce) {
  Pair pair([](NetConfig& config) { config.streams = 2; });
  constexpr size_t kChannels = 4;
  const ConnectionShape shape(32 * 1024, 4096, 4096);
  std::vector<std::unique_ptr<Producer>> producers;
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (size_t i = 0; i < 2 * kChannels; ++i) {
    producers.push_back(std::make_unique<Producer>(shape));
    consumers.push_back(std::make_unique<Consumer>(shape));
    const int from = static_cast<int>(i / kChannels);
    const int channel = static_cast<int>(i % kChannels);
    pair.send(from, channel, *producers[i]);
    pair.receive(1 - from, channel, *consumers[i]);
  }
  std::vector<std::thread> callers;  // one per rank and channel: sends and receives on its channel
  for (size_t i = 0; i < 2 * kChannels; ++i) {
    callers.emplace_back([&, i] {
      NetTransport& net = *pair.net[i / kChannels];
      Producer& out = *producers[i];
      Consumer& in = *consumers[(i + kChannels) % (2 * kChannels)];
      for (uint32_t step = 0; step < 100; ++step) {
        ASSERT_TRUE(drive(net, [&] { return out.hasCredit(); }));
        out.send(Protocol::Simple, 1000 * (step % 32) + 1);
        ASSERT_TRUE(drive(net, [&] { return in.tryReceive(Protocol::Simple, 1000 * (step % 32) + 1); })) << step;
      }
      net.kick();
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& consumer : consumers) EXPECT_EQ(0u, consumer->wrong());
}

TEST(NetTransport, WhatWasPublishedLeavesWithoutAnybodyWaiting) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  for (int i = 0; i < 8; ++i) producer.send(Protocol::Simple, 50'000);
  pair.net[0]->kick();  // and rank 0 does nothing more
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 50'000); }));
  }
  EXPECT_EQ(0u, consumer.wrong());
}

// Says where the receiver wants the payload of a step that a Producer will send.
void want(const Consumer& consumer, uint64_t step, std::vector<uint8_t>& place) {
  SlotHeader* header = consumer.memory().slotHeader(step);
  header->wanted = place.data();
  header->wantedBytes = static_cast<uint32_t>(place.size());
  header->wantedCheck = static_cast<uint32_t>(step * 31);
  header->wantedFor.store(step + 1, std::memory_order_release);
}

TEST(NetTransport, APieceGoesWhereTheReceiverWantsIt) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  std::vector<uint8_t> place(1000);
  want(consumer, 0, place);
  producer.send(Protocol::Simple, 1000);
  pair.net[0]->kick();
  const SlotHeader* header = consumer.memory().slotHeader(0);
  ASSERT_TRUE(drive(*pair.net[1], [&] { return header->published.load(std::memory_order_acquire) == 1; }));
  EXPECT_EQ(place.data(), header->lent);
  EXPECT_EQ(0, std::memcmp(place.data(), producer.memory().simpleSlot(0), place.size()));
}

TEST(NetTransport, OnceRevokedWantedMemoryIsLeftAlone) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {8});
  std::vector<uint8_t> place(1000);
  want(consumer, 1, place);
  pair.net[1]->poll();  // the network has been told
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

TEST(NetTransport, AGoodbyeIsNoFailure) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 70'000);
  pair.net[0]->close(5'000'000'000);
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 70'000); }));
  EXPECT_FALSE(drive(
      *pair.net[1], [] { return false; }, 100'000'000));
  int peer;
  EXPECT_FALSE(pair.net[1]->failed()) << errorOf(*pair.net[1], &peer);
}

TEST(NetTransport, AnIdleEngineLeavesTheProcessorAlone) {
  Pair pair;
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, Protocol::Simple, {1, 2, 3});
  // Data that nobody takes: eight slots fill up at the receiver's side, more wait in the kernel.
  for (int i = 0; i < 4; ++i) producer.send(Protocol::Simple, 250'000);
  pair.net[0]->kick();
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 250'000); }));
  pair.net[1]->kick();
  timespec before;
  timespec after;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  pair.net[1]->waitForEvents(300'000'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the span that is measured
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const int64_t used = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  EXPECT_LT(used, 60'000'000);
}

// A rank in a process of its own, which dies in the middle of the traffic.
TEST(NetTransport, AKilledPeerIsNamedWithinASecond) {
  int toChild[2];
  int toParent[2];
  ASSERT_EQ(0, ::pipe(toChild));
  ASSERT_EQ(0, ::pipe(toParent));
  const auto exchange = [](int out, int in, const std::vector<uint8_t>& mine) {
    std::vector<uint8_t> theirs(mine.size());
    if (::write(out, mine.data(), mine.size()) != static_cast<ssize_t>(mine.size())) ::_exit(2);
    if (::read(in, theirs.data(), theirs.size()) != static_cast<ssize_t>(theirs.size())) ::_exit(3);
    return theirs;
  };
  const pid_t child = ::fork();
  Producer producer(kShape);
  Consumer consumer(kShape);
  std::unique_ptr<NetTransport> net;
  std::vector<uint8_t> info;
  const int rank = child == 0 ? 1 : 0;
  ASSERT_TRUE(NetTransport::create(configOf(rank, 2), &net).isOk());
  ASSERT_TRUE(net->listen({"127.0.0.1"}, &info).isOk());
  const auto peerInfo = child == 0 ? exchange(toParent[1], toChild[0], info) : exchange(toChild[1], toParent[0], info);
  ASSERT_TRUE(net->addPeer(1 - rank, peerInfo).isOk());
  ASSERT_TRUE(net->sendConnection(1 - rank, 0, producer.memory()).isOk());
  ASSERT_TRUE(net->recvConnection(1 - rank, 0, consumer.memory()).isOk());
  for (uint32_t step = 0; child == 0 || step < 50; ++step) {
    ASSERT_TRUE(drive(*net, [&] { return producer.hasCredit(); }));
    producer.send(Protocol::Simple, 9'999);
    ASSERT_TRUE(drive(*net, [&] { return consumer.tryReceive(Protocol::Simple, 9'999); }));
  }
  ASSERT_EQ(0, ::kill(child, SIGKILL));
  const int64_t killed = monotonicNanos();
  ASSERT_EQ(child, ::waitpid(child, nullptr, 0));
  EXPECT_FALSE(drive(*net, [&] {
    while (consumer.tryReceive(Protocol::Simple, 9'999)) {
    }
    return false;
  }));
  EXPECT_LT(monotonicNanos() - killed, 1'000'000'000);
  int peer = -1;
  const std::string text = errorOf(*net, &peer);
  EXPECT_EQ(1, peer) << text;
  EXPECT_NE(std::string::npos, text.find("rank 1 at 127.0.0.1:")) << text;
  EXPECT_NE(std::string::npos, text.find("ended or was killed")) << text;
  EXPECT_NE(std::string::npos, text.find("channel=0")) << text;
  for (const int fd : {toChild[0], toChild[1], toParent[0], toParent[1]}) ::close(fd);
}

TEST(NetTransport, AListenerThatIsGoneIsNamedWhenTheTimeIsUp) {
  Pair pair([](NetConfig& config) { config.connectTimeoutNanos = 200'000'000; });
  Producer producer(kShape);
  pair.send(0, 0, producer);
  pair.net[1].reset();
  producer.send(Protocol::Simple, 1);
  EXPECT_FALSE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[0], &peer);
  EXPECT_EQ(1, peer);
  EXPECT_NE(std::string::npos, text.find("no connection to rank 1")) << text;
  EXPECT_NE(std::string::npos, text.find("errno=111 (Connection refused)")) << text;
  EXPECT_NE(std::string::npos, text.find("nobody listens there")) << text;
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
  EXPECT_NE(std::string::npos, errorOf(*pair.net[0], &peer).find("same secret"));
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
  EXPECT_NE(std::string::npos, text.find("room_bytes=4096")) << text;
}

TEST(NetTransport, AKickWakesAWaiterThatNobodyElseWould) {
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
  EXPECT_EQ(0u, pair.net[0]->driven());
  EXPECT_EQ(0u, pair.net[1]->driven());
  producers[2]->send(Protocol::Simple, 100);
  firstUses[2]->noteFirstUse();
  pair.net[0]->kick();
  EXPECT_EQ(1u, pair.net[0]->driven());
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumers[2]->tryReceive(Protocol::Simple, 100); }));
  EXPECT_EQ(1u, pair.net[1]->driven());
  EXPECT_EQ(0u, consumers[2]->wrong());
}

TEST(NetTransport, NoCommonAddressFamilyIsSaidAtOnce) {
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
}  // namespace jccl
