// Network transports over verbs, on real queue pairs: scripts/rdma-vm gives them to a machine without adapters.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "test/net_pair.h"
#include "transport/net_ib.h"

namespace jccl {
namespace {

using test::configOf;
using test::Consumer;
using test::drive;
using test::Producer;

const ConnectionShape kShape(256 * 1024, 16 * 1024, 16 * 1024);

size_t at(int rank) { return static_cast<size_t>(rank); }

NetMaker overVerbs() { return IbNet::open; }

std::string errorOf(const NetTransport& net, int* peer) { return net.error(peer).message(); }

class NetIb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::unique_ptr<NetTransport> net;
    const Status made = NetTransport::create(configOf(0, 2), &net, overVerbs());
    if (!made) GTEST_SKIP() << made.message();
  }

  void open(const std::function<void(NetConfig&)>& change = {}) {
    for (int rank : {0, 1}) {
      NetConfig config = configOf(rank, 2);
      if (change) change(config);
      const Status created = NetTransport::create(config, &net_[at(rank)], overVerbs());
      ASSERT_TRUE(created.isOk()) << created.message();
      const Status listening = net_[at(rank)]->listen({"127.0.0.1"}, &info_[at(rank)]);
      ASSERT_TRUE(listening.isOk()) << listening.message();
      ASSERT_LE(info_[at(rank)].size(), NetListener::kMaxInfoBytes);
    }
    for (int rank : {0, 1}) ASSERT_TRUE(net_[at(rank)]->addPeer(1 - rank, info_[at(1 - rank)]).isOk());
  }

  void connect(Producer& producer, Consumer& consumer, int channel = 0, int from = 0) {
    kept_.push_back(producer.block());
    kept_.push_back(consumer.block());
    Status sends = net_[at(from)]->sendConnection(1 - from, channel, producer.memory());
    ASSERT_TRUE(sends.isOk()) << sends.message();
    Status receives = net_[at(1 - from)]->recvConnection(from, channel, consumer.memory());
    ASSERT_TRUE(receives.isOk()) << receives.message();
  }

  // Sends all sizes and takes them, by two threads.
  void transfer(Producer& producer, Consumer& consumer, Protocol protocol, const std::vector<uint32_t>& sizes) {
    std::thread sender([&] {
      for (uint32_t units : sizes) {
        int peer = -1;
        ASSERT_TRUE(drive(*net_[0], [&] { return producer.hasCredit(); })) << errorOf(*net_[0], &peer);
        producer.send(protocol, units);
      }
      net_[0]->kick();
    });
    for (uint32_t units : sizes) {
      int peer = -1;
      EXPECT_TRUE(drive(*net_[1], [&] { return consumer.tryReceive(protocol, units); }))
          << "step=" << consumer.step() << " " << errorOf(*net_[1], &peer);
      if (net_[1]->failed()) break;
    }
    sender.join();
    EXPECT_EQ(0u, consumer.wrong());
    EXPECT_FALSE(net_[0]->failed());
    EXPECT_FALSE(net_[1]->failed());
  }

  std::vector<test::Block> kept_;  // the slots outlive the transports
  std::array<std::unique_ptr<NetTransport>, 2> net_;
  std::array<std::vector<uint8_t>, 2> info_;
};

struct Shape {
  Protocol protocol;
  int queuePairs;
  bool split;
};

class NetIbTransfers : public NetIb, public ::testing::WithParamInterface<Shape> {};

TEST_P(NetIbTransfers, AllSizesArriveInOrderAndWhole) {
  open([](NetConfig& config) {
    config.ib.queuePairs = GetParam().queuePairs;
    config.ib.splitData = GetParam().split;
  });
  Producer producer(kShape);
  Consumer consumer(kShape);
  connect(producer, consumer);
  const Protocol protocol = GetParam().protocol;
  const uint32_t most = protocol == Protocol::Simple ? kShape.simpleSlotBytes()
                        : protocol == Protocol::LL   ? kShape.llSlotBytes() / kLLCellBytes
                                                     : kShape.ll128SlotBytes() / kLL128LineBytes;
  std::vector<uint32_t> sizes;
  for (uint32_t units = 0; units < 40; ++units) sizes.push_back(units % most);
  for (uint32_t units = 1; units <= most; units *= 2) {
    for (uint32_t near : {units - 1, units, units + 1}) sizes.push_back(std::min(near, most));
  }
  // An LL slot always has its check cell, an LL128 slot its first line; only SIMPLE knows empty slots.
  if (protocol != Protocol::Simple) std::replace(sizes.begin(), sizes.end(), 0u, 1u);
  transfer(producer, consumer, protocol, sizes);
}

std::string nameOf(const ::testing::TestParamInfo<Shape>& info) {
  static const std::array<const char*, 3> names = {"LL", "LL128", "Simple"};
  return std::string(names[static_cast<size_t>(info.param.protocol)]) + "Over" + std::to_string(info.param.queuePairs) +
         (info.param.split ? "QpsSplit" : "Qps");
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetIbTransfers,
                         ::testing::Values(Shape{Protocol::Simple, 1, false}, Shape{Protocol::Simple, 3, false},
                                           Shape{Protocol::Simple, 3, true}, Shape{Protocol::LL, 1, false},
                                           Shape{Protocol::LL, 2, true}, Shape{Protocol::LL128, 1, false},
                                           Shape{Protocol::LL128, 2, false}),
                         nameOf);

// Two processes, a connection each way.
TEST_F(NetIb, AKilledPeerIsNamedWithinASecond) {
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
  ASSERT_TRUE(NetTransport::create(configOf(rank, 2), &net, overVerbs()).isOk());
  ASSERT_TRUE(net->listen({"127.0.0.1"}, &info).isOk());
  const auto peerInfo = child == 0 ? exchange(toParent[1], toChild[0], info) : exchange(toChild[1], toParent[0], info);
  ASSERT_TRUE(net->addPeer(1 - rank, peerInfo).isOk());
  ASSERT_TRUE(net->sendConnection(1 - rank, 0, producer.memory()).isOk());
  ASSERT_TRUE(net->recvConnection(1 - rank, 0, consumer.memory()).isOk());
  int peer = -1;
  for (uint32_t step = 0; child == 0 || step < 50; ++step) {
    ASSERT_TRUE(drive(*net, [&] { return producer.hasCredit(); })) << errorOf(*net, &peer);
    producer.send(Protocol::Simple, 9'999);
    ASSERT_TRUE(drive(*net, [&] { return consumer.tryReceive(Protocol::Simple, 9'999); })) << errorOf(*net, &peer);
  }
  EXPECT_EQ(0u, consumer.wrong());
  ASSERT_EQ(0, ::kill(child, SIGKILL));
  const int64_t killed = monotonicNanos();
  ASSERT_EQ(child, ::waitpid(child, nullptr, 0));
  EXPECT_FALSE(drive(*net, [&] {
    while (consumer.tryReceive(Protocol::Simple, 9'999)) {
    }
    return false;
  }));
  EXPECT_LT(monotonicNanos() - killed, 1'000'000'000);
  const std::string text = errorOf(*net, &peer);
  EXPECT_EQ(1, peer) << text;
  EXPECT_NE(std::string::npos, text.find("rank 1 at 127.0.0.1:")) << text;
  EXPECT_NE(std::string::npos, text.find("ended or was killed")) << text;
  EXPECT_NE(std::string::npos, text.find("channel=0")) << text;
  for (const int fd : {toChild[0], toChild[1], toParent[0], toParent[1]}) ::close(fd);
}

TEST_F(NetIb, ManyChannelsBothWaysAtOnce) {
  open([](NetConfig& config) { config.ib.queuePairs = 2; });
  constexpr size_t kChannels = 3;
  const ConnectionShape shape(32 * 1024, 4096, 4096);
  std::vector<std::unique_ptr<Producer>> producers;
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (size_t i = 0; i < 2 * kChannels; ++i) {
    producers.push_back(std::make_unique<Producer>(shape));
    consumers.push_back(std::make_unique<Consumer>(shape));
    connect(*producers[i], *consumers[i], static_cast<int>(i % kChannels), static_cast<int>(i / kChannels));
  }
  std::vector<std::thread> callers;  // one per rank: sends and receives on all its channels
  for (size_t rank = 0; rank < 2; ++rank) {
    callers.emplace_back([&, rank] {
      for (uint32_t step = 0; step < 40; ++step) {
        for (size_t channel = 0; channel < kChannels; ++channel) {
          Producer& out = *producers[rank * kChannels + channel];
          ASSERT_TRUE(drive(*net_[rank], [&] { return out.hasCredit(); }));
          out.send(Protocol::Simple, 1000 * (step % 4) + 1);
        }
        for (size_t channel = 0; channel < kChannels; ++channel) {
          Consumer& in = *consumers[(1 - rank) * kChannels + channel];
          ASSERT_TRUE(drive(*net_[rank], [&] { return in.tryReceive(Protocol::Simple, 1000 * (step % 4) + 1); }));
        }
      }
      net_[rank]->kick();
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& consumer : consumers) EXPECT_EQ(0u, consumer->wrong());
}

TEST_F(NetIb, ConnectingAheadPingsBeforeAnythingIsSent) {
  open();
  Producer producer(kShape);
  Consumer consumer(kShape);
  connect(producer, consumer);
  const Status ahead = net_[0]->connectAhead({{1, 0}});
  EXPECT_TRUE(ahead.isOk()) << ahead.message();
  transfer(producer, consumer, Protocol::Simple, {1, 2, 3});
}

TEST_F(NetIb, AGoodbyeIsNoFailure) {
  open();
  Producer producer(kShape);
  Consumer consumer(kShape);
  connect(producer, consumer);
  producer.send(Protocol::Simple, 70'000);
  net_[0]->close(10'000'000'000);
  ASSERT_TRUE(drive(*net_[1], [&] { return consumer.tryReceive(Protocol::Simple, 70'000); }));
  EXPECT_FALSE(drive(
      *net_[1], [] { return false; }, 300'000'000));
  int peer = -1;
  EXPECT_FALSE(net_[1]->failed()) << errorOf(*net_[1], &peer);
}

TEST_F(NetIb, AMessageThatDoesNotFitTheReceiverIsNotSent) {
  open();
  Producer producer(kShape);
  Consumer consumer(ConnectionShape(4096, 4096, 4096));
  connect(producer, consumer);
  producer.send(Protocol::Simple, 8192);
  EXPECT_FALSE(drive(*net_[0], [&] { return producer.freed() == 1; }));
  int peer = -1;
  const std::string text = errorOf(*net_[0], &peer);
  EXPECT_EQ(1, peer);
  EXPECT_NE(std::string::npos, text.find("bytes=8192")) << text;
  EXPECT_NE(std::string::npos, text.find("room_bytes=4096")) << text;
}

TEST_F(NetIb, AnotherNumberOfQueuePairsIsRefusedWithItsReason) {
  open([](NetConfig& config) {
    config.connectTimeoutNanos = 3'000'000'000;
    config.ib.queuePairs = 1 + config.rank;
  });
  Producer producer(kShape);
  Consumer consumer(kShape);
  connect(producer, consumer);
  producer.send(Protocol::Simple, 1);
  net_[0]->kick();
  EXPECT_FALSE(drive(*net_[1], [] { return false; }));
  int peer = -1;
  const std::string text = errorOf(*net_[1], &peer);
  EXPECT_EQ(0, peer);
  EXPECT_NE(std::string::npos, text.find("qps=1, expected 2")) << text;
}

// Soft-RoCE sits on interfaces that can be taken down.
TEST_F(NetIb, APortThatGoesDownEndsBothRanksWithADecodedError) {
  open([](NetConfig& config) {
    config.ib.adapter.hca = "rxe";
    config.ib.adapter.timeout = 14;
    config.ib.adapter.retryCount = 3;
  });
  if (HasFatalFailure()) GTEST_SKIP() << "needs Soft-RoCE";
  Producer producer(kShape);
  Consumer consumer(kShape);
  connect(producer, consumer);
  transfer(producer, consumer, Protocol::Simple, {100});
  const auto link = [](const char* state) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execlp("ip", "ip", "link", "set", "rx0", state, nullptr);
      ::_exit(1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
  };
  if (!link("down")) GTEST_SKIP() << "the interface rx0 cannot be taken down";
  const int64_t start = monotonicNanos();
  producer.send(Protocol::Simple, 200);
  EXPECT_FALSE(drive(*net_[0], [&] { return producer.freed() == 2; }));
  EXPECT_FALSE(drive(*net_[1], [] { return false; }));
  EXPECT_LT(monotonicNanos() - start, 10'000'000'000);
  link("up");
  int peer = -1;
  const std::string text = errorOf(*net_[0], &peer);
  EXPECT_EQ(1, peer);
  // Soft-RoCE fails a request that finds no way out at once; adapters try until the retries are used up.
  const bool decoded = text.find("LOC_QP_OP_ERR") != std::string::npos ||
                       text.find("RETRY_EXC_ERR") != std::string::npos ||
                       text.find("has been down for") != std::string::npos;
  EXPECT_TRUE(decoded) << text;
  EXPECT_NE(std::string::npos, text.find("down")) << text;
  EXPECT_TRUE(net_[1]->failed());
  EXPECT_NE(std::string::npos, errorOf(*net_[1], &peer).find("rank 0")) << errorOf(*net_[1], &peer);
}

}  // namespace
}  // namespace jccl
