// Counts of operations that have begun and ended. A GPU's runtime uses them to inform the proxy threads of its staged
// connections. The object is in ordinary memory of the process; the host engine's library passes its address to the
// GPU's library.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/futex.h"

namespace jccl {

// The counts for one proxy thread: in private memory, or in memory that is shared with the ranks whose data it moves.
struct StagingCounts {
  std::atomic<uint32_t> begun{0};
  std::atomic<uint32_t> ended{0};
  std::atomic<uint32_t> sleeping{0};  // number of sleeping threads

  void begin() {
    begun.fetch_add(1);
    if (sleeping.load() != 0) wake();
  }
  void wake() { futexWake(begun, kFutexAll, FutexScope::Shared); }
};

class StagingActivity {
 public:
  StagingActivity() = default;
  // `counts`: the counts for this rank's proxy thread; null: uses a member of this object. `others`: the counts of
  // the ranks that move data of this rank.
  StagingActivity(StagingCounts* counts, std::vector<StagingCounts*> others)
      : counts_(counts == nullptr ? &own_ : counts), others_(std::move(others)) {}
  StagingActivity(const StagingActivity&) = delete;
  StagingActivity& operator=(const StagingActivity&) = delete;

  void begin() {
    open_.fetch_add(1);
    counts_->begin();
    for (StagingCounts* other : others_) other->begin();
  }
  void end() {
    open_.fetch_sub(1);
    ended(1);
  }

  // Returns true if an operation of any rank that uses the counts is in flight. Reads `ended` first, so that an
  // operation that begins meanwhile counts as in flight.
  bool inFlight() const {
    const uint32_t ended = counts_->ended.load();
    return counts_->begun.load() != ended;
  }
  // Returns the number of operations that have begun, which wraps. A poller needs it because an operation may begin and
  // end between two polls, and leave data to be moved.
  uint32_t begun() const { return counts_->begun.load(); }
  // Returns true if an operation of this rank is in flight.
  bool ownInFlight() const { return open_.load() != 0; }

  // Called by the runtime, which ends before the proxy thread. After this call the proxy thread does not touch the
  // words that end kernels. Operations that never ended count as ended.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ended(open_.exchange(0));
  }
  // Called by the proxy thread: runs `body`, which uses the words that end kernels, unless the runtime has called
  // close().
  template <class Body>
  void unlessClosed(Body&& body) {
    const std::lock_guard lock(mutex_);
    if (!closed_) body();
  }

  // Called by threads that move data: sleeps until begun() is no longer `begun`, for at most `nanos`.
  void sleep(uint32_t begun, int64_t nanos) {
    counts_->sleeping.fetch_add(1);
    futexWaitFor(counts_->begun, begun, nanos, FutexScope::Shared);
    counts_->sleeping.fetch_sub(1);
  }
  void wake() { counts_->wake(); }

 private:
  void ended(uint32_t operations) {
    counts_->ended.fetch_add(operations);
    for (StagingCounts* other : others_) other->ended.fetch_add(operations);
  }

  StagingCounts own_;
  StagingCounts* const counts_ = &own_;
  const std::vector<StagingCounts*> others_{};
  std::atomic<uint32_t> open_{0};
  std::mutex mutex_;
  bool closed_ = false;
};

}  // namespace jccl
