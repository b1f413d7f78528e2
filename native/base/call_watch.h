// Notices a call into foreign code (a plug-in) that does not return.
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

// True on threads that a call may hold for ever: no thread waits for such a thread without a time limit.
inline thread_local bool canBeLeftBehind = false;

// Watches calls that one thread at a time makes; any thread may check. A call that exceeds the limit is left behind:
// should it return, its thread sleeps for ever in around(). Nobody else may ever touch or free what that thread uses.
//
//     enter ──> in the call ──> leave: the thread continues
//                    └── isStuck() after the limit: left behind; around() does not return
class CallWatch {
 public:
  // `who` names the callee in the error.
  explicit CallWatch(std::string who) : who_(std::move(who)) {}
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // Makes the call. `function` names it in the error and must be a literal.
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

  // Returns true once a call has taken longer than `limitNanos`, counted from the first check during that call. The
  // call is then left behind, and every later check returns true.
  bool isStuck(int64_t nowNanos, int64_t limitNanos);

  // Returns true if `thread` made the call that is stuck. Valid only after isStuck() has returned true.
  bool holds(std::thread::id thread) const { return thread_.load(std::memory_order_relaxed) == thread; }

  // Describes the stuck call. Valid only after isStuck() has returned true.
  Status error() const;

  const std::string& who() const { return who_; }

 private:
  static constexpr uint64_t kLeft = uint64_t{1} << 63;

  [[noreturn]] static void stayForEver();

  const std::string who_;
  std::atomic<uint64_t> state_{0};  // incremented at both ends of a call: odd during a call; kLeft: left behind
  std::atomic<const char*> function_{""};
  std::atomic<std::thread::id> thread_{};
  std::mutex mutex_;       // guards seen_ and seenNanos_
  uint64_t seen_ = 0;      // state_ at the first check of the current call
  int64_t seenNanos_ = 0;  // time of that check
  std::atomic<int64_t> stuckNanos_{0};
};

}  // namespace jccl
