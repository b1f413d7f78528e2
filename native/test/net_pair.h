// Two ranks' network transports in one process, with local connection blocks, for tests and benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/net_transport.h"

namespace jccl::test {

// A zeroed connection block with its head line, as the engine would make one.
class Block {
 public:
  explicit Block(const ConnectionShape& shape)
      : words_(new uint64_t[(shape.blockBytes() + 4096) / sizeof(uint64_t)]()), shape_(shape) {}

  ConnectionMemory memory() const {
    const auto raw = reinterpret_cast<uintptr_t>(words_.get());
    auto* start = reinterpret_cast<uint8_t*>((raw + 4095) / 4096 * 4096);
    return {start, reinterpret_cast<HeadLine*>(start), shape_};
  }

 private:
  std::unique_ptr<uint64_t[]> words_;
  ConnectionShape shape_;
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
  return config;
}

// What a producer does: writes SIMPLE step `step` into the block and publishes it.
inline void publish(const ConnectionMemory& memory, uint64_t step, Protocol protocol, uint32_t bytes, uint32_t check) {
  SlotHeader* header = memory.slotHeader(step);
  header->check = check;
  header->bytes = bytes;
  header->protocol = static_cast<uint8_t>(protocol);
  header->published.store(step + 1, std::memory_order_release);
}

}  // namespace jccl::test
