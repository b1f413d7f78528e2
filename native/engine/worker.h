// A thread that runs jobs for another one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/status.h"

namespace jccl {

// It polls for its next job for a short while and then sleeps on a futex, as does whoever waits for it; it never attaches to the
// JVM. A call of a network may hold it for ever: then whoever waits for it goes on without it.
class Worker {
 public:
  using Holds = std::function<bool(std::thread::id)>;

  // `holds` says whether a call holds a thread for ever; null: none does. `hasCore`: the thread need not wait for a core until
  // another one sleeps or yields.
  explicit Worker(Holds holds, bool hasCore = true) : holds_(std::move(holds)), hasCore_(hasCore) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `job` is run once for each start(). It handles what it throws; otherwise that is only logged.
  Status open(const std::string& name, std::function<void()> job);

  void start();

  // Returns when the job has ended. It does so by itself: its waits are bounded. False: it never will.
  bool join();

 private:
  void loop();
  bool isHeld() const;
  bool changesSoon(const std::atomic<uint32_t>& word, uint32_t value) const;

  const Holds holds_;
  const bool hasCore_;
  std::function<void()> job_;
  alignas(64) std::atomic<uint32_t> posted_{0};  // futex word: jobs given
  std::atomic<uint32_t> finished_{0};            // futex word: jobs done
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace jccl
