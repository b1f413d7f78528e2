// A thread that runs jobs for another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/status.h"

namespace jccl {

// A worker polls for its next job for a short while and then sleeps on a futex. The thread that waits for the worker
// does the same. The worker never attaches to the JVM. A call of a network in its job may never return; the waiting
// thread then continues without the worker.
class Worker {
 public:
  using Holds = std::function<bool(std::thread::id)>;

  // `holds`: returns true if the given thread is in a call that will never return; null: every call returns. `hasCore`:
  // the worker and the waiting thread have a core each, so that polling keeps neither from running.
  explicit Worker(Holds holds, bool hasCore = true) : holds_(std::move(holds)), hasCore_(hasCore) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Starts the thread, which runs `job` once for each start(). `job` must catch exceptions; one that escapes is only
  // logged.
  Status open(const std::string& name, std::function<void()> job);

  void start();

  bool hasEnded() const { return finished_.load(std::memory_order_acquire) == posted_.load(std::memory_order_relaxed); }

  // Waits until the job has ended, in bounded time, because each wait in a job has a time limit. Returns false if the
  // job is in a call that will never return.
  bool join();

 private:
  void loop();
  bool isHeld() const;
  bool changesSoon(const std::atomic<uint32_t>& word, uint32_t value) const;

  const Holds holds_;
  const bool hasCore_;
  std::function<void()> job_;
  alignas(64) std::atomic<uint32_t> posted_{0};  // futex word: number of jobs started
  std::atomic<uint32_t> finished_{0};            // futex word: number of jobs finished
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace jccl
