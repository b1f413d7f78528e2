// A window of one rank: memory of the host that other ranks read and write by one-sided operations, and its signals.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/shm_segment.h"

namespace jccl {

// The memory of a window at one rank. Signals follow the data: kSignals counters for each rank that signals.
//
//     │ data, rounded up to 64 bytes │ rank 0: signal 0, 1, … │ rank 1: signal 0, 1, … │ …
class WindowMemory {
 public:
  static constexpr uint32_t kSignals = 64;  // signals of each pair of ranks

  static constexpr size_t signalsOffset(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static constexpr size_t totalBytes(size_t bytes, int size) {
    return signalsOffset(bytes) + static_cast<size_t>(size) * kSignals * sizeof(uint64_t);
  }

  WindowMemory() = default;
  WindowMemory(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  explicit operator bool() const { return data_ != nullptr; }
  uint8_t* data() const { return data_; }
  bool contains(uint64_t offset, uint64_t bytes) const { return offset <= bytes_ && bytes <= bytes_ - offset; }
  // Returns the number of signals with this id that `from` has raised at this rank.
  std::atomic<uint64_t>& raised(int from, uint32_t id) const {
    auto* signals = reinterpret_cast<std::atomic<uint64_t>*>(data_ + signalsOffset(bytes_));
    return signals[static_cast<size_t>(from) * kSignals + id];
  }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

// Copies data of a window. A value of 1, 2, 4 or 8 bytes at a multiple of its size is copied as a whole, so that no
// reader sees parts of two values.
void copyWindowData(uint8_t* to, const uint8_t* from, size_t bytes);
// Adds to the number at an address that is a multiple of 8, in one step for all ranks. Returns the previous number.
uint64_t addToWindow(uint8_t* number, uint64_t addend);

// The memory of this rank to which frames of peers refer. It stays mapped while a frame or an answer uses it.
struct WindowTarget {
  const WindowMemory memory;
  const size_t bytes;
  const std::shared_ptr<ShmSegment> held;
};

class Windows;

struct Window {
  Window(Windows& owner, uint32_t number, int size, const WindowMemory& own)
      : owner(owner),
        number(number),
        own(own),
        peers(size),
        taken(static_cast<size_t>(size) * WindowMemory::kSignals) {}

  Windows& owner;
  const uint32_t number;
  const WindowMemory own;
  std::vector<WindowMemory> peers;  // by rank: memory of ranks of this host, also of this rank; empty for others
  std::vector<std::shared_ptr<ShmSegment>> held;  // keeps the memory of ranks of this host mapped
  std::vector<std::atomic<uint64_t>> taken;       // by rank and id: number of signals that waits have taken
  std::atomic<bool> closed{false};                // waits end
};

}  // namespace jccl
