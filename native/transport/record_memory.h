// Memory for encrypted records, which streams take only while records are in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "crypto/noise.h"

namespace jccl {

// A block of memory for records of one direction of a stream. Blocks that were given back are kept for all streams of
// the process, up to kSpares, because new memory from the kernel costs page faults.
class RecordMemory {
 public:
  static constexpr size_t kRecords = 4;  // number of the longest records that one system call moves
  static constexpr size_t kBytes = kRecords * crypto::Records::kMaxBytes;
  static constexpr size_t kSpares = 8;

  RecordMemory() = default;
  ~RecordMemory() { giveBack(); }
  RecordMemory(const RecordMemory&) = delete;
  RecordMemory& operator=(const RecordMemory&) = delete;

  // Returns kBytes bytes. Their content stays until giveBack().
  uint8_t* data() {
    if (memory_ == nullptr) memory_ = take();
    return memory_.get();
  }
  void giveBack() {
    if (memory_ != nullptr) keep(std::exchange(memory_, nullptr));
  }

  // Returns the number of blocks of this process that are in use.
  static size_t inUse();

 private:
  static std::unique_ptr<uint8_t[]> take();
  static void keep(std::unique_ptr<uint8_t[]> memory);

  std::unique_ptr<uint8_t[]> memory_;
};

}  // namespace jccl
