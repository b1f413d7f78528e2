// Parts for tests and benchmarks of network transports: connection blocks in local memory, and a producer and a
// consumer of slots.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "transport/net_transport.h"

namespace jccl::test {

// A zeroed connection block with its head line, as the engine makes one. Copies share the memory.
class Block {
 public:
  // `deviceSlots`: address of the data of SIMPLE slots; null if the block contains it.
  explicit Block(const ConnectionShape& shape, uint8_t* deviceSlots = nullptr)
      : words_(new uint64_t[(shape.blockBytes() + 4096) / sizeof(uint64_t)]()),
        zeroCopySlots_(new ZeroCopySlot[kSlots]),
        shape_(shape),
        deviceSlots_(deviceSlots) {}

  ConnectionMemory memory() const {
    const auto raw = reinterpret_cast<uintptr_t>(words_.get());
    auto* start = reinterpret_cast<uint8_t*>((raw + 4095) / 4096 * 4096);
    ConnectionMemory memory = {start, reinterpret_cast<HeadLine*>(start), shape_};
    memory.deviceSlots = deviceSlots_;
    memory.zeroCopySlots = zeroCopySlots_.get();
    return memory;
  }

 private:
  std::shared_ptr<uint64_t[]> words_;
  std::shared_ptr<ZeroCopySlot[]> zeroCopySlots_;
  ConnectionShape shape_;
  uint8_t* deviceSlots_;
};

inline NetConfig configOf(int rank, int size, int streams = 1) {
  NetConfig config;
  config.rank = rank;
  config.size = size;
  config.channels = 4;
  config.streams = streams;
  config.communicator.fill(7);
  config.secret.assign(16, 42);
  config.stripeBytes = 16 * 1024;
  // JCCL_ENCRYPTION=on runs the tests of networks with encrypted connections.
  const char* encryption = std::getenv("JCCL_ENCRYPTION");  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  if (encryption != nullptr && std::string(encryption) != "off" && !crypto::Library::open(&config.crypto)) std::abort();
  return config;
}

// Fills the slot's header and publishes the step: the last action of a producer.
inline void publish(const ConnectionMemory& memory, uint64_t step, Protocol protocol, uint32_t bytes, uint32_t check) {
  SlotHeader* header = memory.slotHeader(step);
  header->check = check;
  header->bytes = bytes;
  header->protocol = static_cast<uint8_t>(protocol);
  header->published.store(step + 1, std::memory_order_release);
}

// The sending rank's side of one connection. Sends with all protocols, as GPU kernels do; host ranks send only SIMPLE.
class Producer {
 public:
  // `first`: the first step of the connection.
  explicit Producer(const ConnectionShape& shape, uint8_t* deviceSlots = nullptr, uint64_t first = 0)
      : block_(shape, deviceSlots), step_(first) {
    memory().head->head = first;
  }

  const Block& block() const { return block_; }
  ConnectionMemory memory() const { return block_.memory(); }
  bool hasCredit() const { return step_ < memory().head->head.load(std::memory_order_acquire) + kSlots; }
  uint64_t step() const { return step_; }
  uint64_t freed() const { return memory().head->head.load(std::memory_order_acquire); }

  // `units`: bytes for SIMPLE, cells for LL, lines for LL128.
  void send(Protocol protocol, uint32_t units) {
    const ConnectionMemory m = memory();
    uint32_t bytes = units;
    if (protocol == Protocol::LL) {
      bytes = units * kLLCellBytes;
      auto* cells = reinterpret_cast<uint64_t*>(m.llSlot(step_));
      for (uint32_t i = 0; i < units; ++i) {
        const uint64_t cell = (step_ + 1) << 32 | static_cast<uint32_t>(pattern(i));
        std::atomic_ref<uint64_t>(cells[i]).store(cell, std::memory_order_relaxed);
      }
    } else if (protocol == Protocol::LL128) {
      bytes = units * kLL128LineBytes;
      auto* words = reinterpret_cast<uint64_t*>(m.ll128Slot(step_));
      for (uint32_t i = 0; i < units * 16; ++i) {
        std::atomic_ref<uint64_t>(words[i]).store(i % 16 == 15 ? step_ + 1 : pattern(i), std::memory_order_release);
      }
    } else {
      uint8_t* data = m.simpleSlot(step_);
      for (uint32_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(pattern(i));
    }
    publish(m, step_, protocol, bytes, static_cast<uint32_t>(step_ * 31));
    ++step_;
  }

 private:
  uint64_t pattern(uint32_t i) const { return step_ * 1315423911u + i * 2654435761u; }

  Block block_;
  uint64_t step_;
};

// The receiving rank's side of one connection. Counts the values that differ from those that a Producer sends.
class Consumer {
 public:
  explicit Consumer(const ConnectionShape& shape, uint8_t* deviceSlots = nullptr, uint64_t first = 0)
      : block_(shape, deviceSlots), step_(first) {
    memory().head->head = first;
  }

  const Block& block() const { return block_; }
  ConnectionMemory memory() const { return block_.memory(); }
  uint64_t step() const { return step_; }
  uint64_t wrong() const { return wrong_; }

  // Receives the next step. Returns false if it is not complete yet.
  bool tryReceive(Protocol protocol, uint32_t units) {
    const ConnectionMemory m = memory();
    if (protocol == Protocol::LL) {
      auto* cells = reinterpret_cast<uint64_t*>(m.llSlot(step_));
      for (uint32_t i = 0; i < units; ++i) {
        const uint64_t cell = std::atomic_ref<uint64_t>(cells[i]).load(std::memory_order_acquire);
        if (cell >> 32 != static_cast<uint32_t>(step_ + 1)) return false;
      }
      for (uint32_t i = 0; i < units; ++i) {
        const uint64_t cell = std::atomic_ref<uint64_t>(cells[i]).load(std::memory_order_relaxed);
        wrong_ += static_cast<uint32_t>(cell) != static_cast<uint32_t>(pattern(i)) ? 1 : 0;
      }
    } else if (protocol == Protocol::LL128) {
      auto* words = reinterpret_cast<uint64_t*>(m.ll128Slot(step_));
      for (uint32_t i = 15; i < units * 16; i += 16) {
        if (std::atomic_ref<uint64_t>(words[i]).load(std::memory_order_acquire) != step_ + 1) return false;
      }
      for (uint32_t i = 0; i < units * 16; ++i) wrong_ += i % 16 != 15 && words[i] != pattern(i) ? 1 : 0;
    } else {
      const SlotHeader* header = m.slotHeader(step_);
      if (header->published.load(std::memory_order_acquire) != step_ + 1) return false;
      wrong_ += header->bytes != units || header->check != static_cast<uint32_t>(step_ * 31) ? 1 : 0;
      const uint8_t* data = m.simpleSlot(step_);
      for (uint32_t i = 0; i < units; ++i) wrong_ += data[i] != static_cast<uint8_t>(pattern(i)) ? 1 : 0;
    }
    m.head->head.store(++step_, std::memory_order_release);
    return true;
  }

 private:
  uint64_t pattern(uint32_t i) const { return step_ * 1315423911u + i * 2654435761u; }

  Block block_;
  uint64_t step_;
  uint64_t wrong_ = 0;
};

// Drives the transport until `ready` returns true. Returns false after an error or after `limitNanos`.
template <typename Ready>
bool drive(NetTransport& net, Ready ready, int64_t limitNanos = 20'000'000'000) {
  const int64_t deadline = monotonicNanos() + limitNanos;
  while (!ready()) {
    if (net.failed() || monotonicNanos() > deadline) return false;
    if (net.poll() == 0) net.waitForEvents(1'000'000);
  }
  return true;
}

}  // namespace jccl::test
