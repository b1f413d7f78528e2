// Records of a communicator's last operations, readable while operations run. The report of a hang and the flight
// recorder's dump are made from them.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/cycle_clock.h"
#include "engine/operation.h"
#include "primitives/wait_place.h"

namespace jccl {

enum class OperationState : uint8_t { None = 0, Running = 1, Done = 2, Failed = 3 };
inline constexpr int kOperationStateCount = 4;

// A copy of a record, for readers. Times are in nanoseconds of CLOCK_MONOTONIC; 0 if not known.
struct HistoryRow {
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;
  int32_t code = 0;
  int32_t root = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;  // size of this rank's larger buffer if the operation has a count for each rank; otherwise 0
  OperationState state = OperationState::None;
  int64_t begun = 0;
  int64_t ended = 0;
  int64_t waitedNanos = 0;
  int32_t waitedFor = -1;
  int64_t choice = 0;  // Choice::encode() without chunkBytes
};

// The thread that runs operations writes records without a lock; any thread reads them. If a record is rewritten while
// a reader copies it, the reader recognises this by the sequence number and does not return the record.
class History {
 public:
  // How operations are timed. `Coarse` is for a communicator of one rank, which never waits: a small operation begins
  // at the last tick of the process (base/clock.h), and the time of its end is not known.
  enum class Timing : uint8_t { None, Coarse, Exact };

  // Number of records that reports of hangs need.
  static constexpr uint64_t kMinRecords = 256;
  static constexpr uint64_t kDefaultRecords = 1024;

  // `operations`: number of records, which is rounded up to a power of two of at least kMinRecords. If it is 0, records
  // contain no times. `alone`: the communicator has one rank.
  explicit History(uint64_t operations = kDefaultRecords, bool alone = false)
      : records_(roundUp(operations)), mask_(records_.size() - 1), timing_(timingOf(operations, alone)) {}

  uint64_t size() const { return records_.size(); }
  Timing timing() const { return timing_; }

  void begin(const Operation& operation) {
    Record& record = at(operation.sequence);
    record.sequence.store(~uint64_t{0}, std::memory_order_relaxed);
    record.begun.store(isTimed(operation) ? time(timing_) : beginOfUntimed(), std::memory_order_release);
    record.fingerprint.store(operation.fingerprint, std::memory_order_release);
    record.code.store(operation.code.encode() | operation.wire.encode(), std::memory_order_release);
    record.root.store(operation.root, std::memory_order_release);
    record.amount.store(amountOf(operation), std::memory_order_release);
    record.choice.store(static_cast<uint32_t>(operation.choice.encode()), std::memory_order_release);
    record.state.store(OperationState::Running, std::memory_order_release);
    record.sequence.store(operation.sequence, std::memory_order_release);
    entered_.store(operation.sequence, std::memory_order_release);
  }

  // Records the end of an operation; pass the same `operation` as to begin(). Returns the time that it took, in the
  // unit of time(); 0 if not known.
  int64_t end(const Operation& operation, bool ok, const LongWaits& waits = {}, bool inPlace = false) {
    Record& record = at(operation.sequence);
    int64_t now = 0;
    int64_t took = 0;
    if (isTimed(operation)) {
      now = time(timing_);
      took = now - record.begun.load(std::memory_order_relaxed);
    }
    record.ended.store(now, std::memory_order_release);
    record.waitedMicros.store(0, std::memory_order_release);
    if (__builtin_expect(waits.nanos != 0, 0)) {
      const int64_t micros = std::min<int64_t>(waits.nanos / 1000, UINT32_MAX);
      record.waitedMicros.store(static_cast<uint32_t>(micros), std::memory_order_release);
      record.waitedFor.store(waits.peer, std::memory_order_release);
    }
    if (__builtin_expect(inPlace, 0)) {
      const uint32_t choice = record.choice.load(std::memory_order_relaxed);
      record.choice.store(choice | uint32_t{Choice::kZeroCopyUsed} << Choice::kFlagShift, std::memory_order_release);
    }
    record.state.store(ok ? OperationState::Done : OperationState::Failed, std::memory_order_release);
    if (ok) done_.store(operation.sequence, std::memory_order_release);
    return took;
  }

  // lastEntered() returns the sequence number of the operation that was entered last, lastDone() that of the operation
  // that was completed last; 0: none.
  uint64_t lastEntered() const { return entered_.load(std::memory_order_acquire); }
  uint64_t lastDone() const { return done_.load(std::memory_order_acquire); }

  // Copies the record of an operation. Returns false if there is no such record, for instance because a later operation
  // has replaced it.
  bool read(uint64_t sequence, HistoryRow& row) const {
    const Record& record = records_[sequence & mask_];
    if (sequence == 0 || record.sequence.load(std::memory_order_acquire) != sequence) return false;
    row.sequence = sequence;
    row.fingerprint = record.fingerprint.load(std::memory_order_acquire);
    row.code = record.code.load(std::memory_order_acquire);
    row.root = record.root.load(std::memory_order_acquire);
    const uint64_t amount = record.amount.load(std::memory_order_acquire);
    row.count = (amount & kIsBytes) != 0 ? 0 : amount;
    row.bytes = (amount & kIsBytes) != 0 ? amount & ~kIsBytes : 0;
    row.choice = record.choice.load(std::memory_order_acquire);
    row.begun = record.begun.load(std::memory_order_acquire);
    row.state = record.state.load(std::memory_order_acquire);
    row.ended = 0;
    row.waitedNanos = 0;
    row.waitedFor = -1;
    if (row.state != OperationState::Running) {
      row.ended = record.ended.load(std::memory_order_acquire);
      row.waitedNanos = int64_t{record.waitedMicros.load(std::memory_order_acquire)} * 1000;
      if (row.waitedNanos != 0) row.waitedFor = record.waitedFor.load(std::memory_order_acquire);
    }
    toNanos(timing_, row.begun, row.ended);
    return record.sequence.load(std::memory_order_acquire) == sequence;
  }

  static size_t roundUp(uint64_t operations) { return std::bit_ceil(std::max(operations, kMinRecords)); }

  static Timing timingOf(uint64_t operations, bool alone) {
    if (operations == 0) return Timing::None;
    return alone ? Timing::Coarse : Timing::Exact;
  }

  // Returns the current time, which toNanos() converts to nanoseconds of CLOCK_MONOTONIC.
  static int64_t time(Timing timing) {
    if (timing == Timing::Exact) return CycleClock::ticks();
    return timing == Timing::Coarse ? monotonicNanos() : 0;
  }

  static int64_t durationNanos(Timing timing, int64_t duration) {
    return timing != Timing::Exact ? duration : CycleClock::durationNanos(duration);
  }

  // Converts both times with one converter, so that `ended` stays after `begun`. A time of 0 means not known and stays
  // 0.
  static void toNanos(Timing timing, int64_t& begun, int64_t& ended) {
    if (timing != Timing::Exact) return;
    const CycleClock::Converter clock;
    if (begun != 0) begun = clock.nanos(begun);
    if (ended != 0) ended = clock.nanos(ended);
  }

 private:
  static constexpr uint64_t kIsBytes = uint64_t{1} << 63;

  // Returns the amount of data that the application requested: the count, or kIsBytes and the number of bytes if each
  // rank has its own count. For a part of an operation returns the count of the whole operation.
  static uint64_t amountOf(const Operation& operation) {
    if (operation.part.whole != 0) return operation.part.whole;
    return __builtin_expect(operation.count == 0, 0) ? kIsBytes | operation.bufferBytes() : operation.count;
  }

  // A communicator of one rank, which only copies, reads the clock for operations of at least this size.
  static constexpr size_t kTimedBytes = 64u << 10;

  bool isTimed(const Operation& operation) const {
    return timing_ == Timing::Exact || (timing_ == Timing::Coarse && operation.bytes >= kTimedBytes);
  }

  int64_t beginOfUntimed() const { return timing_ == Timing::Coarse ? tickNanos.load(std::memory_order_relaxed) : 0; }

  struct alignas(64) Record {
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> fingerprint{0};
    std::atomic<uint64_t> amount{0};  // see amountOf
    std::atomic<int64_t> begun{0};    // in the unit of time()
    std::atomic<int64_t> ended{0};
    std::atomic<int32_t> code{0};
    std::atomic<int32_t> root{0};
    std::atomic<uint32_t> choice{0};
    std::atomic<uint32_t> waitedMicros{0};
    std::atomic<int32_t> waitedFor{-1};
    std::atomic<OperationState> state{OperationState::None};
  };
  static_assert(sizeof(Record) == 64);

  Record& at(uint64_t sequence) { return records_[sequence & mask_]; }

  std::vector<Record> records_;
  const uint64_t mask_;
  const Timing timing_;
  alignas(64) std::atomic<uint64_t> entered_{0};
  std::atomic<uint64_t> done_{0};
};

}  // namespace jccl
