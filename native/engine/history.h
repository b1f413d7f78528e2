// The last operations of a communicator, readable while they run: what the report of a hang is built from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/operation.h"

namespace jccl {

enum class OperationState : uint8_t { None = 0, Running = 1, Done = 2, Failed = 3 };

// A copy of a record, for readers.
struct HistoryRow {
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;
  int32_t code = 0;
  int32_t root = 0;
  uint64_t count = 0;
  OperationState state = OperationState::None;
};

// Written by the thread that runs operations, with plain stores (relaxed atomics); read by any thread. A record that is
// rewritten while it is read is recognised by its sequence number and not returned.
class History {
 public:
  static constexpr uint64_t kRecords = 256;

  void begin(const Operation& operation) {
    Record& record = at(operation.sequence);
    record.sequence.store(~uint64_t{0}, std::memory_order_relaxed);
    record.fingerprint.store(operation.fingerprint, std::memory_order_release);
    record.code.store(operation.code.encode(), std::memory_order_release);
    record.root.store(operation.root, std::memory_order_release);
    // Of a part the count of the whole: what the application has requested.
    const bool isPart = operation.part.whole != 0;
    record.count.store(isPart ? operation.part.whole : operation.count, std::memory_order_release);
    record.state.store(OperationState::Running, std::memory_order_release);
    record.sequence.store(operation.sequence, std::memory_order_release);
    entered_.store(operation.sequence, std::memory_order_release);
  }

  void end(uint64_t sequence, bool ok) {
    at(sequence).state.store(ok ? OperationState::Done : OperationState::Failed, std::memory_order_release);
    if (ok) done_.store(sequence, std::memory_order_release);
  }

  // The first operation is number 1; 0 means none.
  uint64_t lastEntered() const { return entered_.load(std::memory_order_acquire); }
  uint64_t lastDone() const { return done_.load(std::memory_order_acquire); }

  // Returns whether the operation is still on record.
  bool read(uint64_t sequence, HistoryRow& row) const {
    const Record& record = records_[sequence % kRecords];
    if (sequence == 0 || record.sequence.load(std::memory_order_acquire) != sequence) return false;
    row.sequence = sequence;
    row.fingerprint = record.fingerprint.load(std::memory_order_acquire);
    row.code = record.code.load(std::memory_order_acquire);
    row.root = record.root.load(std::memory_order_acquire);
    row.count = record.count.load(std::memory_order_acquire);
    row.state = record.state.load(std::memory_order_acquire);
    return record.sequence.load(std::memory_order_acquire) == sequence;
  }

 private:
  struct alignas(64) Record {
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> fingerprint{0};
    std::atomic<uint64_t> count{0};
    std::atomic<int32_t> code{0};
    std::atomic<int32_t> root{0};
    std::atomic<OperationState> state{OperationState::None};
  };

  Record& at(uint64_t sequence) { return records_[sequence % kRecords]; }

  std::array<Record, kRecords> records_;
  alignas(64) std::atomic<uint64_t> entered_{0};
  std::atomic<uint64_t> done_{0};
};

}  // namespace jccl
