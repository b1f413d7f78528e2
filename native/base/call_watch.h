// Notices when a call into foreign code does not return.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/code.h"
#include "base/status.h"

namespace jccl {

// Of the calling thread: nobody needs it to come back from a call.
inline thread_local bool canBeLeftBehind = false;

// One thread at a time makes a call, any thread checks on it. A call that takes longer than the limit is left behind: its
// thread never comes back from it, and what that thread uses belongs to nobody else, for ever.
//
//     enter ──> in the call ──> leave: goes on
//                    └── isStuck() after the limit: left behind; leave() does not return
class CallWatch {
 public:
  // `who` is named in the error.
  explicit CallWatch(std::string who) : who_(std::move(who)) {}
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // `function`: a literal.
  template <typename Call>
  auto around(const char* function, Call call) {
    const uint64_t state = state_.load(std::memory_order_relaxed) + 1;
    function_.store(function, std::memory_order_relaxed);
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    state_.store(state, std::memory_order_release);
    auto result = call();
    uint64_t expected = state;
    if (!state_.compare_exchange_strong(expected, state + 1, std::memory_order_acq_rel)) stayForEver();
    return result;
  }

  // Whether a call has taken longer than `limitNanos` since this object was first asked about it. Then it is left behind.
  bool isStuck(int64_t nowNanos, int64_t limitNanos);

  // Whether that call is the thread's; only once it is stuck.
  bool holds(std::thread::id thread) const { return thread_.load(std::memory_order_relaxed) == thread; }

  // Why it is stuck; only then.
  Status error() const;

  const std::string& who() const { return who_; }

 private:
  static constexpr uint64_t kLeft = uint64_t{1} << 63;

  [[noreturn]] static void stayForEver();

  const std::string who_;
  std::atomic<uint64_t> state_{0};  // counts; odd: in a call
  std::atomic<const char*> function_{""};
  std::atomic<std::thread::id> thread_{};
  std::mutex mutex_;  // of those who check
  uint64_t seen_ = 0;
  int64_t seenNanos_ = 0;
  std::atomic<int64_t> stuckNanos_{0};
};

}  // namespace jccl
