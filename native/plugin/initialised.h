// That a plug-in is initialised once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/futex.h"
#include "plugin/net_abi.h"

namespace jccl::plugin {

// Before version 11 a plug-in is initialised once in a process, whatever uses it: others refuse a second time. Whoever comes while
// that goes on waits for it; outside of any lock, as it may not return.
class Initialised {
 public:
  static Initialised& of(const void* table) {
    static auto* all = new std::map<const void*, Initialised>;  // threads that a plug-in holds may outlive statics
    static auto* mutex = new std::mutex;
    const std::lock_guard lock(*mutex);
    return (*all)[table];
  }

  // A failure may be tried again.
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
