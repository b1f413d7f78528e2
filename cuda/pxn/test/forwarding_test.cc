// Tests of PXN: ranks on GPUs send to other hosts through the GPU of another rank of their host. They cover the whole
// path from kernel to kernel, over a simulated network with faults. With even seeds it accepts only registered memory.
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "cuda/test/eight_gpus.h"
#include "cuda/test/staged_ranks.h"
#include "pxn/pxn.h"

namespace jccl::test::forwarding_test {
namespace {

// Lets the ranks of a host send through the host's first rank.
class PxnAddition : public StagedAddition {
 public:
  void introduceDevice(StagedRanks& ranks, int rank) override {
    ranks[rank].setForwarded(static_cast<int>(forwarded(ranks, rank).size()));
  }

  void introduceHost(StagedRanks& ranks, int rank) override {
    const std::vector<ForwardedConnection> connections = forwarded(ranks, rank);
    if (connections.empty()) return;
    expectOk(ranks[rank].forwardedSlots(memory_[rank]));
    const device::AdapterMemory& memory = *memory_[rank];
    expectOk(pxnOf(ranks, rank).forwardFor({memory.base(), memory.bytes(), memory.dmabuf()}, connections));
  }

  void connectHost(StagedRanks& ranks, int rank, const ConnectInfos& info) override {
    const int through = ranks.firstOfHost(rank);
    if (through == rank) return;
    const std::vector<ForwardedConnection> all = forwarded(ranks, through);
    std::vector<ForwardedSends::Request> requests;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].from == rank) requests.push_back({all[i].to, all[i].channel, i});
    }
    pxnOf(ranks, rank).sendThrough(through, info[through], all.size(), ranks[rank].forwardedSlotsOf(through), requests);
  }

  static Pxn& pxnOf(StagedRanks& ranks, int rank) { return ranks.host(rank).attachment<Pxn>(); }

 private:
  static void expectOk(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  // Returns the connections that a rank serves for the other ranks of its host, in the order of these ranks.
  static std::vector<ForwardedConnection> forwarded(StagedRanks& ranks, int forwarder) {
    std::vector<ForwardedConnection> all;
    if (ranks.firstOfHost(forwarder) != forwarder) return all;
    for (int rank = forwarder + 1; rank < forwarder + ranks.ranksOfHost(); ++rank) {
      for (int peer = 0; peer < ranks.size(); ++peer) {
        if (ranks.hostOf(peer) == ranks.hostOf(rank)) continue;
        for (const int channel : ranks[rank].stagedChannels(peer)) all.push_back({rank, peer, channel, 0, false});
      }
    }
    return all;
  }

  std::map<int, std::shared_ptr<device::AdapterMemory>> memory_;  // by forwarder
};

uint64_t forwardedBytes(StagedRanks& ranks, int rank) { return PxnAddition::pxnOf(ranks, rank).forwardedBytes(); }

std::string takeLog() {
  std::string log;
  for (LogRecord record; takeLogRecord(&record);) log += record.text + "\n";
  return log;
}

// Every rank sends a message to every other rank.
void exchange(StagedRanks& ranks, size_t count) {
  const int size = ranks.size();
  const auto valueOf = [](int from, int to, size_t i) { return static_cast<int32_t>(i) * 31 + from * 100 + to; };
  const auto n = static_cast<size_t>(size);
  std::vector<std::vector<std::vector<int32_t>>> sent(n), received(n);
  std::vector<Issued> issued;
  for (int rank = 0; rank < size; ++rank) {
    std::vector<PointToPointTask> tasks;
    sent[rank].resize(n);
    received[rank].resize(n);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      std::vector<int32_t>& out = sent[rank][peer];
      std::vector<int32_t>& in = received[rank][peer];
      out.resize(count);
      in.assign(count, 0);
      for (size_t i = 0; i < count; ++i) out[i] = valueOf(rank, peer, i);
      const size_t bytes = count * sizeof(int32_t);
      tasks.push_back({PointToPointTask::Kind::Send, peer, reinterpret_cast<uint8_t*>(out.data()), bytes, 5});
      tasks.push_back({PointToPointTask::Kind::Recv, peer, reinterpret_cast<uint8_t*>(in.data()), bytes, 5});
    }
    issued.push_back(ranks[rank].runPointToPoint({}, tasks, kLimitNanos, ranks[rank].ownStream()));
  }
  for (int rank = 0; rank < size; ++rank) {
    ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks[rank].lastError();
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(received[rank][peer][i], valueOf(peer, rank, i));
    }
  }
}

// The first rank of a host forwards for 32 others, to 33 ranks each.
TEST(Forwarding, ServesMoreRanksThanABlockHasConnectionsFor) {
  if (!onEightGpus()) return;
  constexpr int kRanksOfHost = 33;
  std::mt19937_64 random(1);
  PxnAddition pxn;
  StagedRanks ranks(2 * kRanksOfHost, deviceFaultsOf(1), Slots::OnDevice, kRanksOfHost, &pxn);
  sumUp(ranks, choiceOf(Algorithm::Ring, Protocol::Simple, kChannels), random);
  exchange(ranks, 30);
  for (const int forwarder : {0, kRanksOfHost}) EXPECT_GT(forwardedBytes(ranks, forwarder), 0u);
}

TEST(Forwarding, EveryAlgorithmAndProtocolBySeed) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    PxnAddition pxn;
    StagedRanks ranks(4, deviceFaultsOf(seed), Slots::OnDevice, 2, &pxn);
    for (int round = 0; round < 6 && !HasFatalFailure(); ++round) sumUp(ranks, choiceBy(random), random);
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
      if (!HasFatalFailure()) sumUp(ranks, choiceOf(algorithm, Protocol::Simple, kChannels), random);
    }
    if (!HasFatalFailure()) exchange(ranks, 3000);
    for (const int forwarder : {0, 2}) EXPECT_GT(forwardedBytes(ranks, forwarder), 0u);
    for (const int other : {1, 3}) EXPECT_EQ(forwardedBytes(ranks, other), 0u);
  }
}

// On each host, two ranks send 4 KiB to each of the three ranks of the other host, through the first rank of their own
// host. The first rank forwards nothing else.
TEST(Forwarding, ManyRanksSendThroughOne) {
  PxnAddition pxn;
  StagedRanks ranks(6, deviceFaultsOf(2), Slots::OnDevice, 3, &pxn);
  exchange(ranks, 1024);
  for (const int forwarder : {0, 3}) EXPECT_EQ(forwardedBytes(ranks, forwarder), 2u * 3 * 4096);
}

// Issues the send or receive of one message on a rank. The adapter of the rank's host is near the GPU of another rank.
Issued sendOne(StagedRanks& ranks, int rank, PointToPointTask::Kind kind, int peer, std::vector<uint8_t>& data) {
  return ranks[rank].runPointToPoint({}, {{kind, peer, data.data(), data.size(), 5}}, kLimitNanos,
                                     ranks[rank].ownStream());
}

TEST(Forwarding, AForwarderMovesDataOfOperationsInWhichItTakesNoPart) {
  PxnAddition pxn;
  StagedRanks ranks(4, deviceFaultsOf(3), Slots::OnDevice, 2, &pxn);
  std::vector<uint8_t> out(100'000, 7), in(out.size());
  const std::vector<Issued> issued = {sendOne(ranks, 1, PointToPointTask::Kind::Send, 3, out),
                                      sendOne(ranks, 3, PointToPointTask::Kind::Recv, 1, in)};
  EXPECT_EQ(ranks.await(1, issued[0]), Code::Ok) << ranks[1].lastError();
  EXPECT_EQ(ranks.await(3, issued[1]), Code::Ok) << ranks[3].lastError();
  EXPECT_EQ(in, out);
  EXPECT_EQ(forwardedBytes(ranks, 0), out.size());
  EXPECT_EQ(forwardedBytes(ranks, 2), 0u);
}

TEST(Forwarding, DataGoesThroughTheHostIfTheNetworkDoesNotReachTheGpu) {
  takeLog();
  PxnAddition pxn;
  StagedRanks ranks(4, faultsOf(5), Slots::OnDevice, 2, &pxn);
  const std::string log = takeLog();
  EXPECT_NE(log.find("PXN: forwarding connections=4 is not possible, other ranks send them through memory of the host: "
                     "net: faulty reaches memory of the host only"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("PXN: connections=4 go through memory of the host instead of the GPU of rank=0: that rank does "
                     "not forward; its log says why"),
            std::string::npos)
      << log;
  exchange(ranks, 1000);
  EXPECT_EQ(forwardedBytes(ranks, 0), 0u);
}

TEST(Forwarding, AForwarderKnowsIfRanksStillSendThroughIt) {
  PxnAddition pxn;
  StagedRanks ranks(4, deviceFaultsOf(1), Slots::OnDevice, 2, &pxn);
  EXPECT_EQ(ranks.host(0).users(), Attachment::Users::Here);
  EXPECT_EQ(ranks.host(1).users(), Attachment::Users::None);
  ranks.close(1);
  EXPECT_EQ(ranks.host(0).users(), Attachment::Users::None);
  EXPECT_EQ(ranks.host(2).users(), Attachment::Users::Here);
}

TEST(Forwarding, SendsThroughARankThatHasEndedFailAndNameIt) {
  PxnAddition pxn;
  StagedRanks ranks(4, deviceFaultsOf(1), Slots::OnDevice, 2, &pxn);
  std::vector<uint8_t> out(100'000, 7);
  ranks.close(0);
  const Issued issued = sendOne(ranks, 1, PointToPointTask::Kind::Send, 3, out);
  EXPECT_EQ(ranks.await(1, issued), Code::Transport);
  EXPECT_NE(
      ranks.host(1).lastError().find("rank=0, through whose GPU this rank sends (PXN), has closed its communicator"),
      std::string::npos)
      << ranks.host(1).lastError();
  EXPECT_EQ(ranks[2].failure(), Code::Ok);
}

// The forwarder takes no part in the operation. Its connection breaks before the message, which needs many slots, is
// complete.
TEST(Forwarding, ABrokenNetworkOfTheForwarderFailsTheSender) {
  int named = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    NetFaults faults = deviceFaultsOf(seed);
    faults.loses = true;
    faults.ranks = 4;
    PxnAddition pxn;
    StagedRanks ranks(4, faults, Slots::OnDevice, 2, &pxn);
    std::vector<uint8_t> out(4'000'000, 7), in(out.size());
    const Issued sent = sendOne(ranks, 1, PointToPointTask::Kind::Send, 3, out);
    const Issued received = sendOne(ranks, 3, PointToPointTask::Kind::Recv, 1, in);
    const Code code = ranks.await(1, sent);
    if (code != Code::Ok) ranks[3].abort(Code::Aborted);
    (void)ranks.await(3, received);
    if (code == Code::Ok) continue;
    EXPECT_EQ(code, Code::Transport);
    const std::string text = ranks.host(1).lastError();
    named += text.find("rank=0, through whose GPU this rank sends (PXN), has a broken network: ") != std::string::npos;
  }
  EXPECT_GT(named, 0);
}

}  // namespace
}  // namespace jccl::test::forwarding_test
