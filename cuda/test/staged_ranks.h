// Ranks on emulated GPUs of several simulated hosts, in one process. The hosts do not reach each other's memory; a
// simulated network with faults connects them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/runtime/device_communicator.h"
#include "cuda/test/device/emulated_driver.h"
#include "engine/communicator.h"
#include "test/faulty_net.h"
#include "test/rank_threads.h"

namespace jccl::test {

using device::DeviceCommunicator;
using device::Issued;

inline constexpr int kChannels = 2;
inline constexpr int64_t kLimitNanos = 60'000'000'000;
inline constexpr int64_t kBriefLimitNanos = 1'000'000'000;  // if neither end may notice a broken connection
inline constexpr std::chrono::seconds kAwaitLimit{120};

// Location of the data of SIMPLE slots.
enum class Slots { InHost, OnDevice };

class StagedRanks;

using ConnectInfos = std::vector<std::vector<uint8_t>>;  // by rank

// The steps of a part in the life of StagedRanks. The object must outlive them.
class StagedAddition {
 public:
  virtual ~StagedAddition() = default;
  // Changes the configuration of a rank's communicator on the host.
  virtual void configure(CommunicatorConfig& /*config*/) {}
  // Called when a rank has its rings and trees.
  virtual void layOut(StagedRanks& /*ranks*/, int /*rank*/) {}
  // Called when all ranks are laid out, before the rank's GPU and then before the rank's host makes its connect
  // information.
  virtual void introduceDevice(StagedRanks& /*ranks*/, int /*rank*/) {}
  virtual void introduceHost(StagedRanks& /*ranks*/, int /*rank*/) {}
  // Called when the GPUs of a host are connected, before the rank connects to other hosts.
  virtual void connectHost(StagedRanks& /*ranks*/, int /*rank*/, const ConnectInfos& /*info*/) {}
  // Called when all ranks are connected, before they prepare.
  virtual void connect(StagedRanks& /*ranks*/) {}
};

class StagedRanks {
 public:
  // The adapter of a host is near the GPU of the host's first rank, so only that rank can have slots on its device.
  StagedRanks(int size, const NetFaults& faults, Slots slots = Slots::InHost, int ranksOfHost = 1,
              StagedAddition* addition = nullptr)
      : network(faults), slots_(slots), ranksOfHost_(ranksOfHost), addition_(addition) {
    static uint64_t communicators = uint64_t{1} << 32;
    ++communicators;
    const size_t n = static_cast<size_t>(size);
    ConnectInfos info(n), deviceInfo(n);
    communicators_.resize(n);
    devices_.resize(n);
    adapterMemory_.resize(n);
    for (int rank = 0; rank < size; ++rank) {
      CommunicatorConfig config;
      config.engine.rank = rank;
      config.engine.size = size;
      config.engine.channels = kChannels;
      config.engine.localRanks = size;
      config.engine.cores = static_cast<int>(std::thread::hardware_concurrency());
      config.engine.simpleSlotBytes = 4096;
      config.engine.llSlotBytes = config.engine.ll128SlotBytes = 1024;
      config.secret.assign(16, 42);
      config.makeNet = network.maker();
      if (addition != nullptr) addition->configure(config);
      expectOk(Communicator::create(config, communicators_[rank]));
      device::DeviceCommunicatorConfig onDevice;
      onDevice.rank = rank;
      onDevice.size = size;
      onDevice.channels = kChannels;
      onDevice.device = rank % ranksOfHost % emulator::EmulatedDriver::ofThisProcess().devices();
      onDevice.threads = 64;
      onDevice.simpleSlotBytes = 4096;
      onDevice.llSlotBytes = onDevice.ll128SlotBytes = 1024;
      onDevice.token[0] = communicators;
      expectOk(DeviceCommunicator::create(onDevice, devices_[rank]));
    }
    for (int rank = 0; rank < size; ++rank) layOutDevice(rank);
    for (int rank = 0; rank < size; ++rank) introduce(rank, info[rank], deviceInfo[rank]);
    for (int rank = 0; rank < size; ++rank) connect(rank, info, deviceInfo);
    if (addition != nullptr) addition->connect(*this);
    for (int rank = 0; rank < size; ++rank) prepare(rank);
  }

  ~StagedRanks() {
    for (auto& device : devices_) {
      if (device != nullptr) device->abort(Code::Aborted);
    }
    devices_.clear();
  }

  int size() const { return static_cast<int>(devices_.size()); }
  int ranksOfHost() const { return ranksOfHost_; }
  int hosts() const { return size() / ranksOfHost_; }
  int hostOf(int rank) const { return rank / ranksOfHost_; }
  int firstOfHost(int rank) const { return hostOf(rank) * ranksOfHost_; }
  DeviceCommunicator& operator[](int rank) { return *devices_[rank]; }
  Communicator& host(int rank) { return *communicators_[rank]; }
  // Closes one rank before the others.
  void close(int rank) {
    devices_[rank].reset();
    communicators_[rank].reset();
  }

  Issued allReduce(int rank, Choice choice, std::vector<int32_t>& buffer, int64_t limitNanos = kLimitNanos) {
    return devices_[rank]->run({Collective::AllReduce, DataType::Int32, ReduceOp::Sum}, choice, buffer.data(),
                               buffer.data(), static_cast<int64_t>(buffer.size()), 0, limitNanos,
                               devices_[rank]->ownStream());
  }

  Code await(int rank, const Issued& issued) {
    if (issued.code != Code::Ok) return issued.code;
    const auto deadline = std::chrono::steady_clock::now() + kAwaitLimit;
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

  // Waits for an operation of all ranks. Returns true if it succeeds on all of them; `ends` receives each rank's
  // result. Not every end of a connection notices a failure, so a failure of one rank aborts the others, as the
  // coordinator does.
  bool awaitTogether(const std::vector<Issued>& issued, std::vector<Code>* ends = nullptr) {
    const auto deadline = std::chrono::steady_clock::now() + kAwaitLimit;
    std::vector<Code> codes(issued.size(), Code::Ok);
    for (size_t rank = 0; rank < issued.size(); ++rank) {
      bool done = issued[rank].code != Code::Ok;
      codes[rank] = issued[rank].code;
      while (!done) {
        codes[rank] = devices_[rank]->query(issued[rank].number, done);
        const auto failed = [](const auto& device) { return device->failure() != Code::Ok; };
        if (std::any_of(devices_.begin(), devices_.end(), failed)) {
          for (auto& device : devices_) {
            if (!failed(device)) device->abort(Code::Aborted);
          }
        }
        if (std::chrono::steady_clock::now() >= deadline) {
          ADD_FAILURE() << "rank=" << rank << " does not end: " << devices_[rank]->lastError();
          return false;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    if (ends != nullptr) *ends = codes;
    return std::all_of(codes.begin(), codes.end(), [](Code code) { return code == Code::Ok; });
  }

  FaultyNetwork network;

 private:
  static void expectOk(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  // Sets the same rings and trees on the host and on the device.
  template <class Half>
  void setRingsAndTrees(Half& half, int rank) {
    std::vector<int> order, down;
    for (int i = 0; i < size(); ++i) order.push_back(i);
    if (rank + 1 < size()) down.push_back(rank + 1);
    for (int channel = 0; channel < kChannels; ++channel) {
      expectOk(half.setRing(channel, order));
      expectOk(half.setTree(channel, rank - 1, down));
    }
  }

  void layOutDevice(int rank) {
    DeviceCommunicator& device = *devices_[rank];
    setRingsAndTrees(device, rank);
    if (addition_ != nullptr) addition_->layOut(*this, rank);
    for (int peer = 0; peer < size(); ++peer) {
      if (hostOf(peer) != hostOf(rank)) expectOk(device.setStaged(peer));
    }
  }

  void introduce(int rank, std::vector<uint8_t>& info, std::vector<uint8_t>& deviceInfo) {
    if (addition_ != nullptr) addition_->introduceDevice(*this, rank);
    expectOk(devices_[rank]->connectInfo(deviceInfo));
    if (addition_ != nullptr) addition_->introduceHost(*this, rank);
    if (slots_ == Slots::OnDevice && firstOfHost(rank) == rank) useDeviceSlots(rank);
    expectOk(communicators_[rank]->connectInfo({"simulated"}, info));
  }

  void connect(int rank, const ConnectInfos& info, const ConnectInfos& deviceInfo) {
    Communicator& host = *communicators_[rank];
    DeviceCommunicator& device = *devices_[rank];
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank && hostOf(peer) == hostOf(rank)) expectOk(device.connect(peer, deviceInfo[peer]));
    }
    for (int peer = 0; peer < size(); ++peer) {
      if (hostOf(peer) == hostOf(rank)) continue;
      host.setStagedChannels(peer, device.stagedChannels(peer), device.exchangeOnlyChannels(peer));
    }
    if (addition_ != nullptr) addition_->connectHost(*this, rank, info);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank) continue;
      const bool here = hostOf(peer) == hostOf(rank);
      expectOk(host.connect(peer, here ? TransportKind::P2p : TransportKind::Socket, info[peer]));
    }
    setRingsAndTrees(host.engine(), rank);
  }

  void prepare(int rank) {
    Communicator& host = *communicators_[rank];
    DeviceCommunicator& device = *devices_[rank];
    expectOk(host.prepare());
    for (int peer = 0; peer < size(); ++peer) {
      if (hostOf(peer) == hostOf(rank)) continue;
      std::vector<StagedEnds> ends;
      expectOk(host.stage(peer, device.stagedChannels(peer), ends));
      expectOk(device.connectStaged(peer, TransportKind::Socket, ends, host.memory()));
    }
    StagingActivity* activity = nullptr;
    expectOk(host.startStaging(device.controls(), &activity));
    EXPECT_NE(activity, nullptr);
    expectOk(device.prepare(false, activity));
  }

  // Puts the slots of all connections but one on the device. The remaining connection stands for one whose adapter is
  // too far from the GPU.
  void useDeviceSlots(int rank) {
    DeviceSlots slots;
    for (int peer = 0; peer < static_cast<int>(devices_.size()); ++peer) {
      if (hostOf(peer) == hostOf(rank)) continue;
      for (const int channel : devices_[rank]->stagedChannels(peer)) {
        slots.uses.push_back({peer, channel, true, 0});
        if (channel != 0 || peer != 0) slots.uses.push_back({peer, channel, false, 0});
      }
    }
    expectOk(devices_[rank]->makeDeviceSlots(static_cast<int>(slots.uses.size()), adapterMemory_[rank]));
    const device::AdapterMemory& memory = *adapterMemory_[rank];
    slots.memory = {memory.base(), memory.bytes(), memory.dmabuf()};
    expectOk(communicators_[rank]->useDeviceSlots(std::move(slots)));
  }

  const Slots slots_;
  const int ranksOfHost_;
  StagedAddition* const addition_;
  std::vector<std::shared_ptr<device::AdapterMemory>> adapterMemory_;  // outlives the members below
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<DeviceCommunicator>> devices_;
};

inline NetFaults faultsOf(uint64_t seed) {
  NetFaults faults;
  faults.seed = seed;
  faults.maxDelayNanos = 20'000;
  faults.maxHiccupNanos = 500'000;
  return faults;
}

// Returns faults of a network that can access device memory.
inline NetFaults deviceFaultsOf(uint64_t seed) {
  NetFaults faults = faultsOf(seed);
  faults.reachesDevices = true;
  faults.registers = seed % 2 == 0;
  return faults;
}

inline Choice choiceBy(std::mt19937_64& random) {
  return choiceOf(static_cast<Algorithm>(random() % kAlgorithmCount), static_cast<Protocol>(random() % kProtocolCount),
                  1 + static_cast<int>(random() % kChannels));
}

// Runs an all-reduce on all ranks and checks the sums. The number of elements is drawn from a few counts.
inline void sumUp(StagedRanks& ranks, Choice choice, std::mt19937_64& random) {
  const int size = ranks.size();
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

// Runs on two ranks a group of a send, a receive and two all-reduces, and checks the results.
inline void exchangeAndSumUp(StagedRanks& ranks) {
  constexpr size_t kCount = 5000;
  std::vector<std::vector<int32_t>> sums(2, std::vector<int32_t>(kCount, 3)), sent(2), received(2);
  std::vector<Issued> issued;
  for (int rank = 0; rank < 2; ++rank) {
    sent[rank].assign(kCount, rank + 10);
    received[rank].assign(kCount, 0);
    ranks[rank].beginGroup();
    std::vector<PointToPointTask> tasks = {
        {PointToPointTask::Kind::Send, 1 - rank, reinterpret_cast<uint8_t*>(sent[rank].data()), 4 * kCount, 5},
        {PointToPointTask::Kind::Recv, 1 - rank, reinterpret_cast<uint8_t*>(received[rank].data()), 4 * kCount, 5}};
    EXPECT_EQ(ranks[rank].runPointToPoint({}, tasks, kLimitNanos, nullptr).code, Code::Ok);
    for (int i = 0; i < 2; ++i) ranks.allReduce(rank, choiceOf(Algorithm::Ring, Protocol::LL), sums[rank]);
    issued.push_back(ranks[rank].endGroup(kLimitNanos, ranks[rank].ownStream()));
  }
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks[rank].lastError();
    EXPECT_EQ(sums[rank], std::vector<int32_t>(kCount, 12));
    EXPECT_EQ(received[rank], std::vector<int32_t>(kCount, 11 - rank));
  }
}

}  // namespace jccl::test
