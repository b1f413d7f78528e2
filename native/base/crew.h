// Threads that help one which has several independent things to do at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace jccl {

// Tasks are short and never block. Whoever is free takes the next: a helper that wakes too late finds nothing left, and the
// caller waits only for tasks that somebody has begun. Helpers look for work a short while and then sleep.
class Crew {
 public:
  static constexpr int kMostTasks = 0xffff;

  // `helpers` threads beside the caller's, named `name`; 0: the caller does everything.
  static Status create(const std::string& name, int helpers, std::unique_ptr<Crew>* crew);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls task(0) to task(count - 1), each once, on any of the threads, and returns when all have returned. What was
  // written before is seen by them, and what they wrote afterwards. For one caller at a time; count <= kMostTasks.
  void run(int count, const std::function<void(int)>& task);

 private:
  Crew() = default;

  void call();
  bool runOne();
  void help();

  // | round, 32 bits | count, 16 bits | next, 16 bits |: a task is taken by raising `next` in the round it belongs to.
  std::atomic<uint64_t> tickets_{0};
  std::atomic<int> finished_{0};
  const std::function<void(int)>* task_ = nullptr;  // read only with a ticket in hand
  std::atomic<uint32_t> calls_{0};                  // helpers sleep on it
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace jccl
