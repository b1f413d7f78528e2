// GPUs that do not reach each other's memory, over a network that is late, delivers in pieces and out of order, and breaks:
// kernels, slots in the host's memory, the pump, and the proxies of the host's engines. The network is of the kind that
// takes receives before sends, as verbs do, or streams, as sockets do, by the seed.
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "cuda/runtime/device_communicator.h"
#include "engine/endpoint.h"
#include "test/faulty_net.h"
#include "test/rank_threads.h"

namespace jccl::test {
namespace {

using device::DeviceCommunicator;
using device::Issued;

constexpr int kChannels = 2;
constexpr int64_t kLimitNanos = 60'000'000'000;
constexpr int64_t kBriefLimitNanos = 1'000'000'000;  // where connections break, which no end may be told of
constexpr std::chrono::seconds kPatience{120};

class StagedRanks {
 public:
  StagedRanks(int size, const NetFaults& faults) : network(faults) {
    static uint64_t communicators = uint64_t{1} << 32;
    ++communicators;
    const size_t n = static_cast<size_t>(size);
    std::vector<std::vector<uint8_t>> info(n), deviceInfo(n);
    endpoints_.resize(n);
    devices_.resize(n);
    for (int rank = 0; rank < size; ++rank) {
      EndpointConfig config;
      config.communicator.rank = rank;
      config.communicator.size = size;
      config.communicator.channels = kChannels;
      config.communicator.localRanks = size;
      config.communicator.cores = static_cast<int>(std::thread::hardware_concurrency());
      config.communicator.simpleSlotBytes = 4096;
      config.communicator.llSlotBytes = config.communicator.ll128SlotBytes = 1024;
      config.secret.assign(16, 42);
      config.makeNet = network.maker();
      expectOk(Endpoint::create(config, endpoints_[rank]));
      expectOk(endpoints_[rank]->connectInfo({"played"}, info[rank]));
      device::DeviceCommunicatorConfig onDevice;
      onDevice.rank = rank;
      onDevice.size = size;
      onDevice.channels = kChannels;
      onDevice.threads = 64;
      onDevice.simpleSlotBytes = 4096;
      onDevice.llSlotBytes = onDevice.ll128SlotBytes = 1024;
      onDevice.token[0] = communicators;
      expectOk(DeviceCommunicator::create(onDevice, devices_[rank]));
    }
    for (int rank = 0; rank < size; ++rank) connect(rank, info, deviceInfo[rank]);
  }

  ~StagedRanks() {
    for (auto& device : devices_) device->abort(Code::Aborted);
    devices_.clear();
  }

  DeviceCommunicator& operator[](int rank) { return *devices_[rank]; }
  Endpoint& endpoint(int rank) { return *endpoints_[rank]; }

  Issued allReduce(int rank, Choice choice, std::vector<int32_t>& buffer, int64_t limitNanos = kLimitNanos) {
    return devices_[rank]->run({Collective::AllReduce, DataType::Int32, ReduceOp::Sum}, choice, buffer.data(),
                               buffer.data(), static_cast<int64_t>(buffer.size()), 0, limitNanos,
                               devices_[rank]->ownStream());
  }

  Code await(int rank, const Issued& issued) {
    if (issued.code != Code::Ok) return issued.code;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (bool done = false;;) {
      const Code code = devices_[rank]->query(issued.number, done);
      if (done) return code;
      if (std::chrono::steady_clock::now() >= deadline) {
        ADD_FAILURE() << "rank=" << rank << " does not end: " << devices_[rank]->lastError();
        return Code::Timeout;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  FaultyNetwork network;

 private:
  static void expectOk(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  void connect(int rank, const std::vector<std::vector<uint8_t>>& info, std::vector<uint8_t>& deviceInfo) {
    const int size = static_cast<int>(devices_.size());
    Endpoint& endpoint = *endpoints_[rank];
    DeviceCommunicator& device = *devices_[rank];
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      expectOk(endpoint.connect(peer, TransportKind::Net, info[peer]));
      expectOk(device.setStaged(peer));
    }
    layOut(endpoint.communicator());
    expectOk(endpoint.prepare());
    std::vector<int> order, down;
    for (int i = 0; i < size; ++i) order.push_back(i);
    if (rank + 1 < size) down.push_back(rank + 1);
    for (int channel = 0; channel < kChannels; ++channel) {
      expectOk(device.setRing(channel, order));
      expectOk(device.setTree(channel, rank - 1, down));
    }
    expectOk(device.connectInfo(deviceInfo));
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      std::vector<StagedEnds> ends;
      expectOk(endpoint.stage(peer, device.stagedChannels(peer), ends));
      expectOk(device.connectStaged(peer, TransportKind::Net, ends));
    }
    StagingActivity* activity = endpoint.startStaging(device.abortWord());
    EXPECT_NE(activity, nullptr);
    expectOk(device.prepare(false, activity));
  }

  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<DeviceCommunicator>> devices_;
};

NetFaults faultsOf(uint64_t seed) {
  NetFaults faults;
  faults.seed = seed;
  faults.mostDelayNanos = 20'000;
  faults.mostHiccupNanos = 500'000;
  return faults;
}

Choice choiceBy(std::mt19937_64& random) {
  return choiceOf(static_cast<Algorithm>(random() % kAlgorithmCount), static_cast<Protocol>(random() % kProtocolCount),
                  1 + static_cast<int>(random() % kChannels));
}

TEST(StagedOverANetwork, EveryAlgorithmAndProtocolBySeed) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int size = 2 + static_cast<int>(seed % 2);
    StagedRanks ranks(size, faultsOf(seed));
    for (int turn = 0; turn < 6; ++turn) {
      const Choice choice = choiceBy(random);
      const size_t count = std::vector<size_t>{0, 1, 77, 3000}[random() % 4];
      std::vector<std::vector<int32_t>> buffers(static_cast<size_t>(size), std::vector<int32_t>(count));
      std::vector<Issued> issued;
      for (int rank = 0; rank < size; ++rank) {
        for (size_t i = 0; i < count; ++i) buffers[rank][i] = static_cast<int32_t>(i * 7 + static_cast<size_t>(rank));
        issued.push_back(ranks.allReduce(rank, choice, buffers[rank]));
      }
      for (int rank = 0; rank < size; ++rank) {
        ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks[rank].lastError();
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(buffers[rank][i], static_cast<int32_t>(size * static_cast<int>(i) * 7 + size * (size - 1) / 2));
        }
      }
    }
    EXPECT_GT(ranks.network.messages(), 0u);
  }
}

// Groups go over the network as anything else.
TEST(StagedOverANetwork, AGroupOfSendsAndCollectives) {
  constexpr size_t kCount = 5000;
  StagedRanks ranks(2, faultsOf(99));
  std::vector<std::vector<int32_t>> sums(2, std::vector<int32_t>(kCount, 3)), sent(2), received(2);
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    sent[rank].assign(kCount, rank + 10);
    received[rank].assign(kCount, 0);
    ranks[rank].beginGroup();
    std::vector<PointToPointTask> tasks = {
        {PointToPointTask::Kind::Send, 1 - rank, reinterpret_cast<uint8_t*>(sent[rank].data()), 4 * kCount, 5},
        {PointToPointTask::Kind::Recv, 1 - rank, reinterpret_cast<uint8_t*>(received[rank].data()), 4 * kCount, 5}};
    EXPECT_EQ(ranks[rank].runPointToPoint(tasks, kLimitNanos, nullptr).code, Code::Ok);
    for (int i = 0; i < 2; ++i) ranks.allReduce(rank, choiceOf(Algorithm::Ring, Protocol::LL), sums[rank]);
    issued.push_back(ranks[rank].endGroup(kLimitNanos, ranks[rank].ownStream()));
  }
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks[rank].lastError();
    EXPECT_EQ(sums[rank], std::vector<int32_t>(kCount, 12));
    EXPECT_EQ(received[rank], std::vector<int32_t>(kCount, 11 - rank));
  }
}

// A rank that stays away is waited for until the abort, which ends the kernel soon.
TEST(StagedOverANetwork, AbortEndsAKernelThatWaits) {
  StagedRanks ranks(2, faultsOf(3));
  std::vector<int32_t> buffer(1000, 1);
  const Issued alone = ranks.allReduce(0, choiceOf(Algorithm::Ring, Protocol::Simple), buffer);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  bool done = true;
  EXPECT_EQ(ranks[0].query(alone.number, done), Code::Ok);
  EXPECT_FALSE(done);
  const auto start = std::chrono::steady_clock::now();
  ranks[0].abort(Code::Aborted);
  EXPECT_EQ(ranks.await(0, alone), Code::Aborted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Connections of one rank break amid an operation: every rank's kernels end, with an error that says what it was.
TEST(StagedOverANetwork, ABrokenConnectionEndsTheKernels) {
  int broken = 0, told = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    NetFaults faults = faultsOf(seed);
    faults.loses = true;
    faults.ranks = 2;
    StagedRanks ranks(2, faults);
    std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(2000, 1));
    std::vector<Code> ends(2, Code::Ok);
    for (int turn = 0; turn < 40 && ends[0] == Code::Ok && ends[1] == Code::Ok; ++turn) {
      std::vector<Issued> issued;
      for (int rank = 0; rank < 2; ++rank) {
        issued.push_back(ranks.allReduce(rank, choiceOf(Algorithm::Ring, Protocol::Simple, kChannels), buffers[rank],
                                         kBriefLimitNanos));
      }
      // Not told to both ends: who hears of it tells the others, as the coordinator does.
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      for (int rank = 0; rank < 2; ++rank) {
        bool done = issued[rank].code != Code::Ok;
        ends[rank] = issued[rank].code;
        while (!done) {
          ends[rank] = ranks[rank].query(issued[rank].number, done);
          if (ranks[1 - rank].failure() != Code::Ok) ranks[rank].abort(Code::Aborted);
          if (ranks[rank].failure() != Code::Ok) ranks[1 - rank].abort(Code::Aborted);
          ASSERT_LT(std::chrono::steady_clock::now(), deadline) << ranks[rank].lastError();
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
      }
    }
    if (ends[0] == Code::Ok && ends[1] == Code::Ok) continue;
    ++broken;
    // A rank that was done may hear of it all the same.
    const Code failures[] = {ranks[0].failure(), ranks[1].failure()};
    if (failures[0] == Code::Transport || failures[1] == Code::Transport) {
      ++told;
    } else {
      EXPECT_TRUE(failures[0] == Code::Timeout || failures[1] == Code::Timeout)
          << static_cast<int>(failures[0]) << " " << static_cast<int>(failures[1]);
    }
    // Nothing begins any more.
    const int failed = ends[0] == Code::Ok ? 1 : 0;
    EXPECT_NE(ranks.allReduce(failed, choiceOf(Algorithm::Ring, Protocol::Simple), buffers[failed]).code, Code::Ok);
  }
  EXPECT_GT(broken, 4);
  EXPECT_GT(told, 2);
}

}  // namespace
}  // namespace jccl::test
