// Initialises a plug-in only once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/futex.h"
#include "plugin/net_abi.h"

namespace jccl::plugin {

// Before version 11, a plug-in may be initialised only once in a process, however many communicators use it: some
// plug-ins refuse a second initialisation. A thread that calls once() during an initialisation waits for the end of
// that initialisation, and holds no lock meanwhile, because init may never return.
class Initialised {
 public:
  static Initialised& of(const void* table) {
    // Never destroyed: threads held by a plug-in may use it late.
    static auto* all = new std::map<const void*, Initialised>;
    static auto* mutex = new std::mutex;
    const std::lock_guard lock(*mutex);
    return (*all)[table];
  }

  // Calls `init` unless it has succeeded before. After a failure, the next call tries again.
  template <typename Init>
  Result once(Init init) {
    uint32_t before = kNot;
    while (!state_.compare_exchange_strong(before, kRunning)) {
      if (before == kDone) return kSuccess;
      futexWait(state_, kRunning);
      before = kNot;
    }
    const Result result = init();
    state_.store(result == kSuccess ? kDone : kNot);
    futexWake(state_);
    return result;
  }

 private:
  static constexpr uint32_t kNot = 0, kRunning = 1, kDone = 2;

  std::atomic<uint32_t> state_{kNot};
};

}  // namespace jccl::plugin
