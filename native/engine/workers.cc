#include "engine/workers.h"

#include <sched.h>

#include <string>
#include <system_error>

#include "base/futex.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kPolls = 2000;
constexpr int kYields = 20;

// Returns when `word` is no longer `value`.
void awaitChange(std::atomic<uint32_t>& word, uint32_t value) {
  for (int i = 0; i < kPolls; ++i) {
    if (word.load(std::memory_order_acquire) != value) return;
  }
  for (int i = 0; i < kYields; ++i) {
    sched_yield();
    if (word.load(std::memory_order_acquire) != value) return;
  }
  while (word.load(std::memory_order_acquire) == value) futexWait(word, value);
}

}  // namespace

Workers::~Workers() {
  for (auto& worker : workers_) {
    worker->stop.store(true, std::memory_order_relaxed);
    worker->posted.fetch_add(1, std::memory_order_release);
    futexWake(worker->posted);
  }
  for (auto& worker : workers_) worker->thread.join();
}

Status Workers::provide(int channels) {
  while (static_cast<int>(workers_.size()) < channels - 1) {
    const int channel = static_cast<int>(workers_.size()) + 1;
    auto worker = std::make_unique<Worker>();
    try {
      worker->thread = startQuietThread(("jccl-ch" + std::to_string(channel)).c_str(),
                                        [this, raw = worker.get(), channel] { loop(*raw, channel); });
    } catch (const std::system_error& error) {
      return Status::system("pthread_create", "channel=" + std::to_string(channel), error.code().value());
    }
    workers_.push_back(std::move(worker));
  }
  return Status::ok();
}

void Workers::start(int channels) {
  for (int i = 0; i < channels - 1; ++i) {
    workers_[i]->posted.fetch_add(1, std::memory_order_release);
    futexWake(workers_[i]->posted);
  }
}

void Workers::join(int channels) {
  for (int i = 0; i < channels - 1; ++i) {
    Worker& worker = *workers_[i];
    const uint32_t target = worker.posted.load(std::memory_order_relaxed);
    for (uint32_t seen; (seen = worker.finished.load(std::memory_order_acquire)) != target;) {
      awaitChange(worker.finished, seen);
    }
  }
}

void Workers::loop(Worker& worker, int channel) {
  for (uint32_t done = 0;; ++done) {
    awaitChange(worker.posted, done);
    if (worker.stop.load(std::memory_order_relaxed)) return;
    job_(channel);
    worker.finished.store(done + 1, std::memory_order_release);
    futexWake(worker.finished);
  }
}

}  // namespace jccl
