// Helper threads for a thread that has several independent tasks at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace jccl {

// Tasks are short and never block. Any free thread takes the next task: a helper that wakes too late finds none left,
// and the caller waits only for tasks that a helper has begun. Helpers poll for work for a short time and then sleep.
class IoThreadPool {
 public:
  static constexpr int kMaxTasks = 0xffff;

  // Starts at most `helpers` threads named `name`; the caller's thread works too. If a thread cannot be started, the
  // pool logs why and works with fewer. With 0 helpers, the caller does everything.
  static std::unique_ptr<IoThreadPool> create(const std::string& name, int helpers);
  ~IoThreadPool();
  IoThreadPool(const IoThreadPool&) = delete;
  IoThreadPool& operator=(const IoThreadPool&) = delete;

  // Calls task(0) to task(count - 1), each once, on any of the threads, and returns when all have returned. Rethrows
  // the first exception of a task; if the caller works alone, the exception skips the tasks that remain. Tasks see
  // everything written before the call, and the caller sees everything they wrote. One caller at a time; count <=
  // kMaxTasks.
  void run(int count, const std::function<void(int)>& task);

 private:
  IoThreadPool() = default;

  void call();
  bool runOne();
  void runTask(int index);
  void help();

  // | round, 32 bits | count, 16 bits | next, 16 bits |: `round` is the number of the run() call, `count` its number of
  // tasks, and `next` the index of the next task. A thread takes that task if its compare-and-swap increments `next`.
  std::atomic<uint64_t> tickets_{0};
  std::atomic<int> finished_{0};
  std::atomic_flag threw_;
  std::exception_ptr thrown_;  // exception of the round's first task that threw; published by finished_
  const std::function<void(int)>* task_ = nullptr;  // read only by the holder of a ticket
  std::atomic<uint32_t> calls_{0};  // incremented to wake the helpers; the futex word on which they sleep
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace jccl
