// Threads for the channels beyond the first, which runs on the caller's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.h"

namespace jccl {

// Made when an operation first needs more than one channel. A worker polls for its next job for a short while and then
// sleeps on a futex; it never attaches to the JVM.
class Workers {
 public:
  // `job(channel)` runs the share of a channel of the operation in flight.
  explicit Workers(std::function<void(int channel)> job) : job_(std::move(job)) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Makes sure that channels 1 .. channels-1 have a thread.
  Status provide(int channels);

  // Starts the job on channels 1 .. channels-1.
  void start(int channels);

  // Returns when all have finished. Jobs end by themselves: their waits are bounded.
  void join(int channels);

 private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> posted{0};    // futex word: jobs given
    std::atomic<uint32_t> finished{0};  // futex word: jobs done
    std::atomic<bool> stop{false};
    std::thread thread;
  };

  void loop(Worker& worker, int channel);

  std::function<void(int)> job_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [i] serves channel i + 1
};

}  // namespace jccl
