#include "base/io_thread_pool.h"

#include <sched.h>

#include <utility>

#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kPolls = 2000;

constexpr uint64_t kCountShift = 16;
constexpr uint64_t kRoundShift = 32;
constexpr uint64_t kMask = 0xffff;

}  // namespace

std::unique_ptr<IoThreadPool> IoThreadPool::create(const std::string& name, int helpers) {
  std::unique_ptr<IoThreadPool> made(new IoThreadPool);
  for (int i = 0; i < helpers; ++i) {
    std::thread helper;
    if (Status started = startQuietThread(
            name.c_str(), [raw = made.get()] { raw->help(); }, &helper);
        !started) {
      logMessage(LogLevel::Warn, "net",
                 "helpers=" + std::to_string(i) + " instead of " + std::to_string(helpers) + ": " + started.message());
      break;
    }
    made->helpers_.push_back(std::move(helper));
  }
  return made;
}

IoThreadPool::~IoThreadPool() {
  stopping_.store(true);
  call();
  for (std::thread& helper : helpers_) helper.join();
}

void IoThreadPool::run(int count, const std::function<void(int)>& task) {
  if (helpers_.empty() || count < 2) {
    for (int i = 0; i < count; ++i) task(i);
    return;
  }
  task_ = &task;
  finished_.store(0, std::memory_order_relaxed);
  const uint64_t round = (tickets_.load(std::memory_order_relaxed) >> kRoundShift) + 1;
  tickets_.store(round << kRoundShift | static_cast<uint64_t>(count) << kCountShift, std::memory_order_release);
  call();
  while (runOne()) {
  }
  for (int polls = 0; finished_.load(std::memory_order_acquire) != count; ++polls) {
    if (polls >= kPolls) sched_yield();
  }
  if (__builtin_expect(thrown_ != nullptr, 0)) {
    threw_.clear();
    std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
}

void IoThreadPool::call() {
  calls_.fetch_add(1);
  if (sleepers_.load() != 0) futexWake(calls_);
}

// Runs a task that no thread has begun. Returns false if there is none.
bool IoThreadPool::runOne() {
  uint64_t ticket = tickets_.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t next = ticket & kMask;
    if (next >= (ticket >> kCountShift & kMask)) return false;
    if (!tickets_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    // task_ belongs to the ticket's round, because run() does not return before this task has returned.
    runTask(static_cast<int>(next));
    return true;
  }
}

void IoThreadPool::runTask(int index) {
  try {
    (*task_)(index);
  } catch (...) {
    if (!threw_.test_and_set()) thrown_ = std::current_exception();
  }
  finished_.fetch_add(1, std::memory_order_release);
}

void IoThreadPool::help() {
  for (uint32_t seen = 0;;) {
    for (int polls = 0; polls < kPolls && calls_.load(std::memory_order_acquire) == seen; ++polls) {
    }
    sleepers_.fetch_add(1);
    while (calls_.load() == seen) futexWait(calls_, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    seen = calls_.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    while (runOne()) {
    }
  }
}

}  // namespace jccl
