// Records of a communicator's last groups of sends and receives, for the flight recorder. Groups have no sequence
// number, because not all ranks take part. Each rank numbers its own groups.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "engine/exchange_tasks.h"
#include "engine/history.h"

namespace jccl {

// A copy of a record, for readers; see HistoryRow.
struct TransferRow {
  uint64_t number = 0;  // number of the group, counted from 1
  uint64_t after = 0;   // the sequence number of the preceding operation
  OperationState state = OperationState::None;
  int32_t sends = 0;
  int32_t to = -1;  // peer of the first send; -1: none
  uint64_t sentBytes = 0;
  int32_t receives = 0;
  int32_t from = -1;  // peer of the first receive; -1: none
  uint64_t receivedBytes = 0;
  int64_t begun = 0;
  int64_t ended = 0;
  int64_t waitedNanos = 0;
  int32_t waitedFor = -1;
};

// Threads: as for History. The first group allocates the memory; if that fails, nothing is recorded.
class TransferHistory {
 public:
  // `operations` and `alone`: see History. With 0 operations nothing is recorded.
  TransferHistory(uint64_t operations, bool alone)
      : size_(operations == 0 ? 0 : History::roundUp(operations)), timing_(History::timingOf(operations, alone)) {}
  ~TransferHistory() { delete[] records_.load(std::memory_order_relaxed); }
  TransferHistory(const TransferHistory&) = delete;
  TransferHistory& operator=(const TransferHistory&) = delete;

  // Records the begin of a group. Returns the number of the group; 0 if the group is not recorded.
  uint64_t begin(uint64_t after, std::span<const PointToPointTask> tasks) {
    if (!hasMemory()) return 0;
    const uint64_t number = last_.load(std::memory_order_relaxed) + 1;
    Record& record = at(number);
    record.number.store(~uint64_t{0}, std::memory_order_relaxed);
    TransferRow row;
    for (const PointToPointTask& task : tasks) {
      const bool sends = task.kind == PointToPointTask::Kind::Send;
      (sends ? row.sentBytes : row.receivedBytes) += task.bytes;
      if ((sends ? row.sends : row.receives)++ == 0) (sends ? row.to : row.from) = task.peer;
    }
    record.after.store(after, std::memory_order_release);
    record.sends.store(row.sends, std::memory_order_release);
    record.to.store(row.to, std::memory_order_release);
    record.sentBytes.store(row.sentBytes, std::memory_order_release);
    record.receives.store(row.receives, std::memory_order_release);
    record.from.store(row.from, std::memory_order_release);
    record.receivedBytes.store(row.receivedBytes, std::memory_order_release);
    record.begun.store(History::time(timing_), std::memory_order_release);
    record.ended.store(0, std::memory_order_release);
    record.waitedNanos.store(0, std::memory_order_release);
    record.state.store(OperationState::Running, std::memory_order_release);
    record.number.store(number, std::memory_order_release);
    last_.store(number, std::memory_order_release);
    return number;
  }

  // Records the end of a group. Returns the time that it took, in the unit of History::time(); 0 if not known.
  int64_t end(uint64_t number, bool ok, const LongWaits& waits = {}) {
    if (number == 0) return 0;
    Record& record = at(number);
    if (record.number.load(std::memory_order_relaxed) != number) return 0;  // a later group has replaced it
    const int64_t now = History::time(timing_);
    record.ended.store(now, std::memory_order_release);
    if (waits.nanos != 0) {
      record.waitedNanos.store(waits.nanos, std::memory_order_release);
      record.waitedFor.store(waits.peer, std::memory_order_release);
    }
    record.state.store(ok ? OperationState::Done : OperationState::Failed, std::memory_order_release);
    return now - record.begun.load(std::memory_order_relaxed);
  }

  // Returns the number of the group that began last; 0: none.
  uint64_t last() const { return last_.load(std::memory_order_acquire); }

  // Copies the record of a group. Returns false if there is no such record, for instance because a later group has
  // replaced it.
  bool read(uint64_t number, TransferRow& row) const {
    const Record* records = records_.load(std::memory_order_acquire);
    if (number == 0 || records == nullptr) return false;
    const Record& record = records[number & (size_ - 1)];
    if (record.number.load(std::memory_order_acquire) != number) return false;
    row.number = number;
    row.after = record.after.load(std::memory_order_acquire);
    row.sends = record.sends.load(std::memory_order_acquire);
    row.to = record.to.load(std::memory_order_acquire);
    row.sentBytes = record.sentBytes.load(std::memory_order_acquire);
    row.receives = record.receives.load(std::memory_order_acquire);
    row.from = record.from.load(std::memory_order_acquire);
    row.receivedBytes = record.receivedBytes.load(std::memory_order_acquire);
    row.begun = record.begun.load(std::memory_order_acquire);
    row.ended = record.ended.load(std::memory_order_acquire);
    History::toNanos(timing_, row.begun, row.ended);
    row.waitedNanos = record.waitedNanos.load(std::memory_order_acquire);
    row.waitedFor = row.waitedNanos == 0 ? -1 : record.waitedFor.load(std::memory_order_acquire);
    row.state = record.state.load(std::memory_order_acquire);
    return record.number.load(std::memory_order_acquire) == number;
  }

 private:
  struct alignas(64) Record {
    std::atomic<uint64_t> number{0};
    std::atomic<uint64_t> after{0};
    std::atomic<uint64_t> sentBytes{0};
    std::atomic<uint64_t> receivedBytes{0};
    std::atomic<int64_t> begun{0};
    std::atomic<int64_t> ended{0};
    std::atomic<int64_t> waitedNanos{0};
    std::atomic<int32_t> sends{0};
    std::atomic<int32_t> receives{0};
    std::atomic<int32_t> to{-1};
    std::atomic<int32_t> from{-1};
    std::atomic<int32_t> waitedFor{-1};
    std::atomic<OperationState> state{OperationState::None};
  };

  bool hasMemory() {
    if (__builtin_expect(size_ != 0 && records_.load(std::memory_order_relaxed) == nullptr, 0)) {
      records_.store(new (std::nothrow) Record[size_], std::memory_order_release);
    }
    return records_.load(std::memory_order_relaxed) != nullptr;
  }

  Record& at(uint64_t number) { return records_.load(std::memory_order_relaxed)[number & (size_ - 1)]; }

  const size_t size_;
  std::atomic<Record*> records_{nullptr};
  const History::Timing timing_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace jccl
