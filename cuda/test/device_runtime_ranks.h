// Ranks of the device runtime in one process, on emulated GPUs. Operations return at once, so one thread can run all
// ranks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "cuda/runtime/device_communicator.h"

namespace jccl::test {

class DeviceRuntimeRanks {
 public:
  // `processes` contains a number for each rank. Ranks with different numbers treat each other as ranks of other
  // processes, and share memory by descriptors. The ranks take turns on the devices from `firstDevice` on.
  explicit DeviceRuntimeRanks(int size, int channels = 2, int devices = 1, const std::vector<int>& processes = {},
                              int firstDevice = 0)
      : size_(size) {
    static uint64_t communicators = 0;
    ++communicators;
    for (int rank = 0; rank < size; ++rank) {
      device::DeviceCommunicatorConfig config;
      config.rank = rank;
      config.size = size;
      config.channels = channels;
      config.device = firstDevice + rank % devices;
      config.threads = 64;
      config.simpleSlotBytes = 4096;
      config.llSlotBytes = 1024;
      config.ll128SlotBytes = 1024;
      config.token[0] = communicators;
      config.descriptors = !processes.empty();
      std::unique_ptr<device::DeviceCommunicator> made;
      const Status status = device::DeviceCommunicator::create(config, made);
      EXPECT_TRUE(status.isOk()) << status.message();
      ranks_.push_back(std::move(made));
    }
    constexpr size_t kProcessAt = 16;  // offset in a rank's information, after magic and base
    std::vector<std::vector<uint8_t>> infos(size);
    std::vector<UniqueFd> offered(size);
    for (int rank = 0; rank < size; ++rank) {
      for (int c = 0; c < channels; ++c) setChannel(rank, c);
      expectOk(rank, ranks_[rank]->connectInfo(infos[rank]));
      offered[rank].reset(ranks_[rank]->takeDescriptor());
    }
    for (int rank = 0; rank < size; ++rank) {
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        std::vector<uint8_t> info = infos[peer];
        if (!processes.empty())
          info[kProcessAt] = static_cast<uint8_t>(info[kProcessAt] + processes[peer] - processes[rank]);
        expectOk(rank, ranks_[rank]->connect(peer, info, ::dup(offered[peer].get())));
      }
      expectOk(rank, ranks_[rank]->prepare(true, nullptr));
    }
  }

  int size() const { return size_; }
  device::DeviceCommunicator& rank(int rank) { return *ranks_[rank]; }
  void close(int rank) { ranks_[rank].reset(); }

  // Waits for an operation of a rank and returns its result.
  Code await(int rank, const device::Issued& issued) {
    if (issued.code != Code::Ok) return issued.code;
    bool done = false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      const Code code = ranks_[rank]->query(issued.number, done);
      if (done) return code;
      if (std::chrono::steady_clock::now() >= deadline) {
        ADD_FAILURE() << "rank=" << rank << " does not end: " << ranks_[rank]->lastError();
        return Code::Timeout;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

 private:
  static void expectOk(int rank, const Status& status) {
    EXPECT_TRUE(status.isOk()) << "rank=" << rank << ": " << status.message();
  }

  // Odd channels run in the reverse direction, and their trees are mirrored.
  void setChannel(int rank, int c) {
    const auto place = [&](int at) { return c % 2 == 0 ? at : size_ - 1 - at; };
    std::vector<int> order, down;
    for (int i = 0; i < size_; ++i) order.push_back(place(i));
    const int self = place(rank);
    for (int child = 2 * self + 1; child <= 2 * self + 2 && child < size_; ++child) down.push_back(place(child));
    expectOk(rank, ranks_[rank]->setRing(c, order));
    expectOk(rank, ranks_[rank]->setTree(c, self == 0 ? -1 : place((self - 1) / 2), down));
  }

  int size_;
  std::vector<std::unique_ptr<device::DeviceCommunicator>> ranks_;
};

}  // namespace jccl::test
