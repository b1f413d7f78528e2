// Runs ranks as threads of a test. Their communicators use real segments, connected like those of threads of one
// process.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mapped_memory.h"
#include "engine/engine.h"

namespace jccl::test {

inline constexpr int64_t kTimeoutNanos = 20'000'000'000;

// Gives each channel a ring and a binary tree over all ranks. On odd channels the ring runs in the reverse direction
// and the tree is mirrored.
inline void layOut(Engine& communicator) {
  const int size = communicator.size();
  for (int channel = 0; channel < communicator.channels(); ++channel) {
    const auto place = [&](int r) { return channel % 2 == 0 ? r : size - 1 - r; };
    std::vector<int> order;
    for (int i = 0; i < size; ++i) order.push_back(place(i));
    EXPECT_TRUE(communicator.setRing(channel, order).isOk());
    const int at = place(communicator.rank());
    std::vector<int> down;
    for (int child = 2 * at + 1; child <= 2 * at + 2 && child < size; ++child) down.push_back(place(child));
    EXPECT_TRUE(communicator.setTree(channel, at == 0 ? -1 : place((at - 1) / 2), down).isOk());
  }
}

class RankThreads {
 public:
  explicit RankThreads(int size, int channels = 1, std::function<void(EngineConfig&)> adjust = {},
                       TransportKind transport = TransportKind::P2p) {
    for (int rank = 0; rank < size; ++rank) {
      EngineConfig config;
      config.rank = rank;
      config.size = size;
      config.channels = channels;
      config.localRanks = size;
      config.cores = static_cast<int>(std::thread::hardware_concurrency());
      config.simpleSlotBytes = 4096;  // small, so that small buffers need many steps
      config.llSlotBytes = 1024;
      config.ll128SlotBytes = 1024;
      config.token[0] = 7;
      config.token[1] = 11;
      if (adjust) adjust(config);
      MappedMemory memory;
      EXPECT_TRUE(MappedMemory::mapAnonymous(Engine::segmentShape(config).bytes(), memory).isOk());
      communicators_.push_back(std::make_unique<Engine>(config, memory.base()));
      segments_.push_back(std::move(memory));
    }
    for (int rank = 0; rank < size; ++rank) connect(rank, size, transport);
  }

  int size() const { return static_cast<int>(communicators_.size()); }
  Engine& operator[](int rank) { return *communicators_[rank]; }

  // Runs the body on one thread per rank and waits for all threads.
  void run(const std::function<void(Engine&)>& body) {
    std::vector<std::thread> threads;
    for (auto& communicator : communicators_) threads.emplace_back([&body, &communicator] { body(*communicator); });
    for (auto& thread : threads) thread.join();
  }

 private:
  void connect(int rank, int size, TransportKind transport) {
    Engine& engine = *communicators_[rank];
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      const Status status = engine.connectLocal(peer, transport, segments_[peer].base());
      EXPECT_TRUE(status.isOk()) << status.message();
    }
    layOut(engine);
    const Status status = engine.checkPlan();
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  std::vector<MappedMemory> segments_;
  std::vector<std::unique_ptr<Engine>> communicators_;
};

// A buffer with guard zones on both sides. With an odd `skew`, its address has no alignment.
class Guarded {
 public:
  Guarded(size_t bytes, size_t skew = 0, uint8_t fill = 0)
      : bytes_(bytes), skew_(skew), memory_(bytes + skew + 2 * kGuard, 0xA5) {
    std::memset(data(), fill, bytes);
  }
  uint8_t* data() { return memory_.data() + kGuard + skew_; }
  uint64_t address() { return reinterpret_cast<uint64_t>(data()); }
  size_t bytes() const { return bytes_; }

  bool intact() const {
    for (size_t i = 0; i < kGuard + skew_; ++i) {
      if (memory_[i] != 0xA5) return false;
    }
    for (size_t i = kGuard + skew_ + bytes_; i < memory_.size(); ++i) {
      if (memory_[i] != 0xA5) return false;
    }
    return true;
  }

  template <class T>
  T get(size_t index) {
    T value;
    std::memcpy(&value, data() + index * sizeof(T), sizeof value);
    return value;
  }
  template <class T>
  void set(size_t index, T value) {
    std::memcpy(data() + index * sizeof(T), &value, sizeof value);
  }

 private:
  static constexpr size_t kGuard = 128;
  size_t bytes_;
  size_t skew_;
  std::vector<uint8_t> memory_;
};

inline Choice choiceOf(Algorithm algorithm, Protocol protocol, int channels = 1, uint32_t chunkBytes = 0,
                       uint16_t flags = 0) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.protocol = protocol;
  choice.channels = static_cast<uint8_t>(channels);
  choice.chunkBytes = chunkBytes;
  choice.flags = flags;
  return choice;
}

}  // namespace jccl::test
