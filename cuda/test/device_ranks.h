// Ranks whose kernels the emulator runs, all in one process: their memory, connections and launches. The connections,
// rings and trees equal those of RankThreads, so that tests can compare results with the host's communicators bit for
// bit.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cuda/kernels/collective_kernel.h"
#include "cuda/test/emulator/machine.h"
#include "engine/segment.h"
#include "test/rank_threads.h"

namespace jccl::test {

using device::DeviceChannel;
using device::Launch;
using device::LinkEnd;

class DeviceRanks {
 public:
  explicit DeviceRanks(int size, int channels = 1, ConnectionShape shape = ConnectionShape(4096, 1024, 1024),
                       uint64_t firstStep = 0)
      : size_(size), channels_(channels), shape_(shape), ranks_(size) {
    for (int rank = 0; rank < size; ++rank) {
      ranks_[rank] = std::make_unique<Rank>();
      EXPECT_TRUE(MappedMemory::mapAnonymous(shape.blockBytes() * size * channels, ranks_[rank]->blocks).isOk());
    }
    for (int rank = 0; rank < size; ++rank) connect(rank, firstStep);
  }

  int size() const { return size_; }

  // Returns a launch without an operation.
  Launch launchOf(int rank) const {
    Rank& r = *ranks_[rank];
    Launch launch{};
    launch.rank = rank;
    launch.size = size_;
    launch.channels = r.channels.data();
    launch.shape = shape_;
    launch.control = {controls(rank), timeoutNanos, 1, 1, &r.report};
    return launch;
  }

  Code result(int rank) const { return static_cast<Code>(static_cast<int32_t>(ranks_[rank]->controls.front().result)); }
  const device::LaunchReport& report(int rank) const { return ranks_[rank]->report; }
  void abort(int rank, Code code) { controls(rank).abort(code); }
  ChannelControls controls(int rank) const { return {ranks_[rank]->controls.data(), channels_}; }
  const device::ProgressRecord& record(int rank, int channel) const { return ranks_[rank]->records[channel]; }
  DeviceChannel& channel(int rank, int channel) { return ranks_[rank]->channels[channel]; }
  const ConnectionShape& shape() const { return shape_; }
  // Returns the block that `rank` has for `peer`: the head line of the connection to the peer, and the slots of the
  // connection from the peer.
  uint8_t* block(int rank, int peer, int channel) const {
    return ranks_[rank]->blocks.base() + (static_cast<size_t>(peer) * channels_ + channel) * shape_.blockBytes();
  }

  // Adds all memory of the ranks to `places`. Connections are on the receiver's device; words that kernels share with
  // the host are on the host.
  void addTo(emulator::MemoryPlaces& places) const {
    for (int rank = 0; rank < size_; ++rank) {
      const Rank& r = *ranks_[rank];
      places.add(r.blocks.base(), shape_.blockBytes() * size_ * channels_, rank);
      places.add(r.controls.data(), r.controls.size() * sizeof r.controls[0], emulator::MemoryPlaces::kHost);
      places.add(&r.report, sizeof r.report, emulator::MemoryPlaces::kHost);
      places.add(r.records.data(), r.records.size() * sizeof r.records[0], emulator::MemoryPlaces::kHost);
    }
  }

  uint64_t timeoutNanos = 20'000'000'000;

 private:
  struct Rank {
    MappedMemory blocks;
    std::vector<LinkEnd> sends, recvs;  // channel-major
    std::vector<std::vector<int32_t>> orders;
    std::vector<DeviceChannel> channels;
    std::vector<device::ProgressRecord> records;
    std::vector<ControlWords> controls;
    device::LaunchReport report{};
  };

  void connect(int rank, uint64_t firstStep) {
    Rank& r = *ranks_[rank];
    r.sends.resize(size_ * channels_);
    r.recvs.resize(size_ * channels_);
    r.orders.resize(channels_);
    r.records.resize(channels_);
    r.controls.resize(channels_);
    for (int c = 0; c < channels_; ++c) {
      for (int peer = 0; peer < size_; ++peer) {
        if (peer == rank) continue;
        const auto headAt = [&](int owner, int other) { return reinterpret_cast<uint64_t*>(block(owner, other, c)); };
        const auto slotsAt = [&](int owner, int other) { return block(owner, other, c) + shape_.simpleOffset(); };
        *headAt(rank, peer) = firstStep;
        r.sends[c * size_ + peer] = {block(peer, rank, c),
                                     slotsAt(peer, rank),
                                     headAt(rank, peer),
                                     firstStep,
                                     firstStep,
                                     TransportKind::P2p,
                                     true,
                                     false};
        r.recvs[c * size_ + peer] = {block(rank, peer, c),
                                     slotsAt(rank, peer),
                                     headAt(peer, rank),
                                     firstStep,
                                     firstStep,
                                     TransportKind::P2p,
                                     true,
                                     false};
      }
      // Odd channels run in the reverse direction, and their trees are mirrored.
      const auto place = [&](int at) { return c % 2 == 0 ? at : size_ - 1 - at; };
      DeviceChannel channel{};
      channel.sends = &r.sends[c * size_];
      channel.recvs = &r.recvs[c * size_];
      const int self = place(rank);
      for (int i = 0; i < size_; ++i) r.orders[c].push_back(place((self + i) % size_));
      channel.ringOrder = r.orders[c].data();
      channel.ringPosition = (self - place(0) + size_) % size_;
      channel.treeUp = self == 0 ? -1 : place((self - 1) / 2);
      for (int child = 2 * self + 1; child <= 2 * self + 2 && child < size_; ++child) {
        channel.treeDown[channel.treeChildren++] = place(child);
      }
      channel.record = &r.records[c];
      r.channels.push_back(channel);
    }
  }

  int size_;
  int channels_;
  ConnectionShape shape_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace jccl::test
