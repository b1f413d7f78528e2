// Tests of the simulated network: its faults must reveal users that do not keep to the rules of transport/net.h.
#include "test/faulty_net.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace jccl::test::faulty_net_test {
namespace {

constexpr uint32_t kBytes = 1000;
constexpr int64_t kTimeLimitNanos = 10'000'000'000;

uint8_t byteOf(uint64_t sequence, uint32_t i) { return static_cast<uint8_t>(sequence * 31 + i * 7 + 1); }

// A sender and a receiver, driven by one thread.
class Ends {
 public:
  explicit Ends(const NetFaults& faults) : network(faults) {
    for (int rank : {0, 1}) {
      EXPECT_TRUE(control[at(rank)].open().isOk() && data[at(rank)].open().isOk());
      configs[at(rank)].rank = rank;
      configs[at(rank)].size = 2;
      EXPECT_TRUE(network.maker()(configs[at(rank)], control[at(rank)], data[at(rank)], &nets[at(rank)]).isOk());
    }
    EXPECT_TRUE(nets[1]->listen({}, &listener).isOk());
    EXPECT_TRUE(nets[0]->connect({{}, 0, 1, 0}, listener->info(), &send).isOk());
    for (uint64_t sequence = 0; sequence < kNetInFlight; ++sequence) {
      out[sequence].resize(kBytes);
      in[sequence].assign(kBytes, 0);
      for (uint32_t i = 0; i < kBytes; ++i) out[sequence][i] = byteOf(sequence, i);
    }
  }

  static size_t at(int rank) { return static_cast<size_t>(rank); }

  // Drives both ends until `over` returns true. Returns false if an end fails or `limit` ns have passed.
  bool drive(const std::function<bool()>& over, int64_t limit = kTimeLimitNanos) {
    const int64_t end = monotonicNanos() + limit;
    int work = 0;
    while (!over()) {
      const int64_t now = monotonicNanos();
      if (now > end || !sendStatus || !recvStatus) return false;
      if (recv == nullptr) {
        listener->progress(now);
        NetRoute route;
        EXPECT_TRUE(listener->accept(&route, &recv).isOk());
      }
      sendStatus = send->progress(now, &work);
      if (recv != nullptr) recvStatus = recv->progress(now, &work);
    }
    return true;
  }

  void postAll() {
    ASSERT_TRUE(drive([&] { return recv != nullptr; }));
    for (uint64_t sequence = 0; sequence < kNetInFlight; ++sequence) {
      const NetBuffer buffer{in[sequence].data(), kBytes, nullptr};
      ASSERT_TRUE(recv->irecv(sequence, std::array<NetBuffer, kNetTags>{buffer, buffer, buffer}).isOk());
      ASSERT_TRUE(send->isend(sequence, {2, 5, kBytes}, {out[sequence].data(), kBytes, nullptr}).isOk());
    }
  }

  FaultyNetwork network;
  std::array<NetConfig, 2> configs;
  std::array<EventSet, 2> control;
  std::array<EventSet, 2> data;
  std::array<std::unique_ptr<Net>, 2> nets;
  std::unique_ptr<NetListener> listener;
  std::unique_ptr<NetSendConnection> send;
  std::unique_ptr<NetRecvConnection> recv;
  Status sendStatus;
  Status recvStatus;
  std::array<std::vector<uint8_t>, kNetInFlight> out;
  std::array<std::vector<uint8_t>, kNetInFlight> in;
};

NetFaults faultsOf(uint64_t seed, bool loses) {
  NetFaults faults;
  faults.seed = seed;
  faults.loses = loses;
  faults.ranks = 1;
  return faults;
}

TEST(FaultyNet, BuffersHoldGarbageUntilTheirMessageIsDone) {
  uint64_t unfinished = 0, overtaken = 0, inParts = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Ends ends(faultsOf(seed, false));
    ends.postAll();
    for (uint64_t sequence = 0; sequence < kNetInFlight; ++sequence) {
      NetArrival arrival;
      ASSERT_TRUE(ends.drive([&] {
        bool done = false;
        EXPECT_TRUE(ends.recv->test(sequence, &done, &arrival).isOk());
        if (!done && ends.in[sequence][0] != 0) ++unfinished;
        return done;
      })) << "seed="
          << seed;
      EXPECT_EQ((NetMessage{2, 5, kBytes}), arrival.message);
      EXPECT_EQ(ends.out[sequence], ends.in[sequence]) << "seed=" << seed;
      ASSERT_TRUE(ends.drive([&] {
        bool done = false;
        EXPECT_TRUE(ends.send->test(sequence, &done).isOk());
        return done;
      })) << "seed="
          << seed;
    }
    overtaken += ends.network.overtaken();
    inParts += ends.network.inParts();
    ends.send->close();
    ends.recv->close();
  }
  EXPECT_GT(unfinished, 0u);
  EXPECT_GT(overtaken, 0u);
  EXPECT_GT(inParts, 0u);
}

TEST(FaultyNet, ALossIsReportedToBothEndsOrOneOrNone) {
  std::array<int, 4> reported{};
  uint64_t whole = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Ends ends(faultsOf(seed, true));
    ends.postAll();
    uint64_t next = 0;
    const bool all = ends.drive(
        [&] {
          bool done = true;
          while (next < kNetInFlight && done) {
            NetArrival arrival;
            EXPECT_TRUE(ends.recv->test(next, &done, &arrival).isOk());
            EXPECT_TRUE(!done || ends.out[next] == ends.in[next]) << "seed=" << seed;
            next += done ? 1 : 0;
          }
          return next == kNetInFlight || ends.network.losses() > 0;
        },
        2'000'000'000);
    if (all && next == kNetInFlight) {
      ++whole;
      continue;
    }
    // Drives each end by itself, as in different processes, with a simulated clock, which a busy host cannot delay.
    int work = 0;
    const int64_t begin = monotonicNanos();
    for (int64_t now = begin; now < begin + 25'000'000; now += 10'000) {
      if (ends.sendStatus) ends.sendStatus = ends.send->progress(now, &work);
      if (ends.recvStatus) ends.recvStatus = ends.recv->progress(now, &work);
    }
    ++reported[(ends.sendStatus ? 0 : 1) + (ends.recvStatus ? 0 : 2)];
  }
  EXPECT_GT(whole, 0u);
  for (size_t i = 0; i < reported.size(); ++i) EXPECT_GT(reported[i], 0) << i;
}

TEST(FaultyNet, AnEndThatGoesWithoutAFinIsReported) {
  Ends ends(faultsOf(7, false));
  ends.postAll();
  ends.send.reset();
  int work = 0;
  const Status received = ends.recv->progress(monotonicNanos(), &work);
  EXPECT_EQ(Code::Transport, received.code());
  EXPECT_NE(std::string::npos, received.message().find("rank 0")) << received.message();
}

TEST(FaultyNet, ASeedDrawsTheSameNumbersEveryTime) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    SeededRandom a(seed), b(seed), other(seed + 1);
    EXPECT_EQ(a.next(), b.next());
    EXPECT_NE(a.next(), other.next());
  }
}

}  // namespace
}  // namespace jccl::test::faulty_net_test
