// What a GPU's runtime reports to the proxy threads of its staged connections: how many operations have begun and ended.
// One object in plain memory of the process, whose address the host engine's library passes to the GPU's.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/futex.h"

namespace jccl {

// The counts of one proxy thread. In memory of the process, or in memory that it shares with ranks whose data it forwards.
struct StagingCounts {
  std::atomic<uint32_t> begun{0};
  std::atomic<uint32_t> ended{0};
  std::atomic<uint32_t> sleeping{0};  // how many threads

  void begin() {
    begun.fetch_add(1);
    if (sleeping.load() != 0) wake();
  }
  void wake() { futexWake(begun, kFutexAll, FutexScope::Shared); }
};

class StagingActivity {
 public:
  StagingActivity() = default;
  // `counts` of this rank's proxy thread, and of those that forward its data; null: its own.
  StagingActivity(StagingCounts* counts, std::vector<StagingCounts*> forwarders)
      : counts_(counts == nullptr ? &own_ : counts), forwarders_(std::move(forwarders)) {}
  StagingActivity(const StagingActivity&) = delete;
  StagingActivity& operator=(const StagingActivity&) = delete;

  void begin() {
    open_.fetch_add(1);
    counts_->begin();
    for (StagingCounts* forwarder : forwarders_) forwarder->begin();
  }
  void end() {
    open_.fetch_sub(1);
    ended(1);
  }

  // Ended is read first: what has begun meanwhile counts as in flight.
  bool inFlight() const {
    const uint32_t ended = counts_->ended.load();
    return counts_->begun.load() != ended;
  }
  // How many have begun; wraps. An operation may begin and end between two polls, and leave data to be moved.
  uint32_t begun() const { return counts_->begun.load(); }
  // The same of this rank's own operations.
  bool ownInFlight() const { return open_.load() != 0; }

  // Of the runtime, which ends before the proxy thread: the word that ends its kernels is not touched any more. What never
  // ended counts no longer.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ended(open_.exchange(0));
  }
  // Of the proxy thread: does something with that word, as long as there is one.
  template <class Body>
  void unlessClosed(Body&& body) {
    const std::lock_guard lock(mutex_);
    if (!closed_) body();
  }

  // Of threads that move data: sleeps until more than so many have begun, or so long.
  void sleep(uint32_t begun, int64_t nanos) {
    counts_->sleeping.fetch_add(1);
    futexWaitFor(counts_->begun, begun, nanos, FutexScope::Shared);
    counts_->sleeping.fetch_sub(1);
  }
  void wake() { counts_->wake(); }

 private:
  void ended(uint32_t operations) {
    counts_->ended.fetch_add(operations);
    for (StagingCounts* forwarder : forwarders_) forwarder->ended.fetch_add(operations);
  }

  StagingCounts own_;
  StagingCounts* const counts_ = &own_;
  const std::vector<StagingCounts*> forwarders_{};
  std::atomic<uint32_t> open_{0};
  std::mutex mutex_;
  bool closed_ = false;
};

}  // namespace jccl
