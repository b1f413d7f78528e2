// Scenarios that every network transport must pass: traffic between two ranks, a FIN, and a rank that is killed.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/net_pair.h"

namespace jccl::test {

inline std::string errorOf(const NetTransport& net, int* peer) { return net.error(peer).message(); }

// The transports of two ranks in one process. They use sockets unless makers are given.
class Pair {
 public:
  explicit Pair(const std::function<void(NetConfig&)>& change = {}, const std::string& address = "127.0.0.1",
                const std::array<NetMaker, 2>& makers = {}) {
    for (int rank : {0, 1}) {
      NetConfig config = configOf(rank, 2);
      if (change) change(config);
      const Status created = NetTransport::create(config, &net[at(rank)], makers[at(rank)]);
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

  std::vector<Block> kept;  // keeps the slots alive longer than the transports
  std::array<std::unique_ptr<NetTransport>, 2> net;
  std::array<std::vector<uint8_t>, 2> info;
};

// Posts `place` as the address for the data of `step`. The message must have the check word that a Producer sends.
inline void postAddress(const Consumer& consumer, uint64_t step, std::vector<uint8_t>& place) {
  ZeroCopySlot& slot = consumer.memory().zeroCopySlot(step);
  slot.postedAddress = place.data();
  slot.postedBytes = static_cast<uint32_t>(place.size());
  slot.postedCheck = static_cast<uint32_t>(step * 31);
  slot.postedFor.store(step + 1, std::memory_order_release);
}

// Sends messages of `sizes` from rank 0 to rank 1. Each rank has a thread of its own.
inline void transfer(Pair& pair, Producer& producer, Consumer& consumer, Protocol protocol,
                     const std::vector<uint32_t>& sizes) {
  std::thread sender([&] {
    for (const uint32_t units : sizes) {
      int peer = -1;
      ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.hasCredit(); })) << errorOf(*pair.net[0], &peer);
      producer.send(protocol, units);
    }
    pair.net[0]->kick();
  });
  for (const uint32_t units : sizes) {
    int peer = -1;
    EXPECT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(protocol, units); }))
        << "step=" << consumer.step() << " " << errorOf(*pair.net[1], &peer);
    if (::testing::Test::HasFailure()) break;
  }
  sender.join();
  EXPECT_EQ(0u, consumer.wrong());
  EXPECT_FALSE(pair.net[0]->failed());
  EXPECT_FALSE(pair.net[1]->failed());
}

// Returns sizes of messages in the protocol's units: small ones, and those around each power of two up to a whole slot.
inline std::vector<uint32_t> sizesOf(const ConnectionShape& shape, Protocol protocol) {
  const uint32_t max = protocol == Protocol::Simple ? shape.simpleSlotBytes()
                       : protocol == Protocol::LL   ? shape.llSlotBytes() / kLLCellBytes
                                                    : shape.ll128SlotBytes() / kLL128LineBytes;
  std::vector<uint32_t> sizes;
  for (uint32_t units = 0; units < 40; ++units) sizes.push_back(units % max);
  for (uint32_t units = 1; units <= max; units *= 2) {
    for (uint32_t near : {units - 1, units, units + 1}) sizes.push_back(std::min(near, max));
  }
  // An LL slot contains at least its check cell, an LL128 slot its first line. Only SIMPLE sends empty slots.
  if (protocol != Protocol::Simple) std::replace(sizes.begin(), sizes.end(), 0u, 1u);
  return sizes;
}

inline const char* titleOf(Protocol protocol) {
  static constexpr std::array<const char*, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames[static_cast<size_t>(protocol)];
}

// Both ranks send and receive on all channels, with one thread for each rank and channel.
inline void sendBothWays(Pair& pair, size_t channels, uint32_t steps) {
  const ConnectionShape shape(32 * 1024, 4096, 4096);
  std::vector<std::unique_ptr<Producer>> producers;
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (size_t i = 0; i < 2 * channels; ++i) {
    producers.push_back(std::make_unique<Producer>(shape));
    consumers.push_back(std::make_unique<Consumer>(shape));
    const int from = static_cast<int>(i / channels);
    const int channel = static_cast<int>(i % channels);
    pair.send(from, channel, *producers[i]);
    pair.receive(1 - from, channel, *consumers[i]);
  }
  std::vector<std::thread> callers;
  for (size_t i = 0; i < 2 * channels; ++i) {
    callers.emplace_back([&, i] {
      NetTransport& net = *pair.net[i / channels];
      Producer& out = *producers[i];
      Consumer& in = *consumers[(i + channels) % (2 * channels)];
      for (uint32_t step = 0; step < steps; ++step) {
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

// Connects two processes in both directions and kills one of them during the traffic. Expects that the other fails
// within 5 s, with an error that names the killed rank.
inline void killAPeer(const NetMaker& maker, const std::function<void(NetConfig&)>& change = {}) {
  const ConnectionShape shape(256 * 1024, 16 * 1024, 16 * 1024);
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
  Producer producer(shape);
  Consumer consumer(shape);
  std::unique_ptr<NetTransport> net;
  std::vector<uint8_t> info;
  const int rank = child == 0 ? 1 : 0;
  NetConfig config = configOf(rank, 2);
  if (change) change(config);
  const Status made = NetTransport::create(config, &net, maker);
  ASSERT_TRUE(made.isOk()) << made.message();
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
  EXPECT_LT(monotonicNanos() - killed, 5'000'000'000);
  const std::string text = errorOf(*net, &peer);
  EXPECT_EQ(1, peer) << text;
  EXPECT_NE(std::string::npos, text.find("rank 1 at 127.0.0.1:")) << text;
  EXPECT_NE(std::string::npos, text.find("ended or was killed")) << text;
  EXPECT_NE(std::string::npos, text.find("channel=0")) << text;
  for (const int fd : {toChild[0], toChild[1], toParent[0], toParent[1]}) ::close(fd);
}

// Rank 0 sends data and a FIN. Expects that rank 1 receives all data and does not fail.
inline void sendFin(Pair& pair, const ConnectionShape& shape) {
  Producer producer(shape);
  Consumer consumer(shape);
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 70'000);
  pair.net[0]->close(10'000'000'000);
  int peer = -1;
  ASSERT_TRUE(drive(*pair.net[1], [&] { return consumer.tryReceive(Protocol::Simple, 70'000); }))
      << errorOf(*pair.net[1], &peer);
  EXPECT_FALSE(drive(
      *pair.net[1], [] { return false; }, 300'000'000));
  EXPECT_FALSE(pair.net[1]->failed()) << errorOf(*pair.net[1], &peer);
}

}  // namespace jccl::test
