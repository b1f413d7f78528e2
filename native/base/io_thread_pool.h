// Threads that help one which has several independent things to do at once.
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

// Tasks are short and never block. Any free thread takes the next: a helper that wakes too late finds nothing left, and the
// caller waits only for tasks that a helper has begun. Helpers poll for work a short while and then sleep.
class IoThreadPool {
 public:
  static constexpr int kMaxTasks = 0xffff;

  // At most `helpers` threads named `name`, in addition to the caller's: the pool does without those that cannot be started, and
  // logs why. With 0 the caller does everything.
  static std::unique_ptr<IoThreadPool> create(const std::string& name, int helpers);
  ~IoThreadPool();
  IoThreadPool(const IoThreadPool&) = delete;
  IoThreadPool& operator=(const IoThreadPool&) = delete;

  // Calls task(0) to task(count - 1), each once, on any of the threads, and returns when all have returned; throws what the first
  // of them threw. What was
  // written before is seen by them, and what they wrote afterwards. For one caller at a time; count <= kMaxTasks.
  void run(int count, const std::function<void(int)>& task);

 private:
  IoThreadPool() = default;

  void call();
  bool runOne();
  void runTask(int index);
  void help();

  // | round, 32 bits | count, 16 bits | next, 16 bits |: a task is taken by raising `next` in the round it belongs to.
  std::atomic<uint64_t> tickets_{0};
  std::atomic<int> finished_{0};
  std::atomic_flag threw_;
  std::exception_ptr thrown_;                       // by the first task of a round that threw; published by finished_
  const std::function<void(int)>* task_ = nullptr;  // read only by the holder of a ticket
  std::atomic<uint32_t> calls_{0};                  // helpers sleep on it
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace jccl
