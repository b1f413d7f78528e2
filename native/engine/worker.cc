#include "engine/worker.h"

#include <sched.h>

#include <utility>

#include "base/call_watch.h"
#include "base/futex.h"
#include "base/limited_run.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kPolls = 2000;
constexpr int kYields = 20;

}  // namespace

// Polls briefly until `word` differs from `value`. Returns false if it did not change in time.
bool Worker::changesSoon(const std::atomic<uint32_t>& word, uint32_t value) const {
  for (int i = hasCore_ ? kPolls : 1; i > 0; --i) {
    if (word.load(std::memory_order_acquire) != value) return true;
  }
  for (int i = 0; i < kYields; ++i) {
    sched_yield();
    if (word.load(std::memory_order_acquire) != value) return true;
  }
  return false;
}

Worker::~Worker() {
  if (!thread_.joinable()) return;
  if (isHeld()) {
    leaveThread(thread_);
    return;
  }
  stop_.store(true, std::memory_order_relaxed);
  start();
  thread_.join();
}

Status Worker::open(const std::string& name, std::function<void()> job) {
  job_ = std::move(job);
  return startQuietThread(
      name.c_str(), [this] { loop(); }, &thread_);
}

void Worker::start() {
  posted_.fetch_add(1, std::memory_order_release);
  futexWake(posted_);
}

bool Worker::isHeld() const { return holds_ != nullptr && holds_(thread_.get_id()); }

bool Worker::join() {
  const uint32_t target = posted_.load(std::memory_order_relaxed);
  for (uint32_t seen; (seen = finished_.load(std::memory_order_acquire)) != target;) {
    if (changesSoon(finished_, seen)) continue;
    if (isHeld()) return false;
    futexWaitFor(finished_, seen, kLookNanos);
  }
  return true;
}

void Worker::loop() {
  canBeLeftBehind = holds_ != nullptr;
  for (uint32_t done = 0;; ++done) {
    while (!changesSoon(posted_, done)) futexWait(posted_, done);
    if (stop_.load(std::memory_order_relaxed)) return;
    try {
      job_();
    } catch (...) {
      logThrown("worker");
    }
    finished_.store(done + 1, std::memory_order_release);
    futexWake(finished_);
  }
}

}  // namespace jccl
