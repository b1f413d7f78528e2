// Linux futexes: threads sleep while a word has a given value.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace jccl {

// The threads that share a word: those of one process, or those of all processes that map the word.
enum class FutexScope { Process, Shared };

constexpr int kFutexAll = INT_MAX;

namespace detail {
inline void futexWait(const std::atomic<uint32_t>& word, uint32_t expected, const timespec* limit, FutexScope scope) {
  ::syscall(SYS_futex, &word, scope == FutexScope::Process ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, expected, limit, nullptr,
            0);
}
}  // namespace detail

// Sleeps while `word` equals `expected`. Can return early, so the caller must check the word again.
inline void futexWait(const std::atomic<uint32_t>& word, uint32_t expected, FutexScope scope = FutexScope::Process) {
  detail::futexWait(word, expected, nullptr, scope);
}

// Sleeps like futexWait, for at most `nanos`. Returns at once if `nanos` is negative.
inline void futexWaitFor(const std::atomic<uint32_t>& word, uint32_t expected, int64_t nanos,
                         FutexScope scope = FutexScope::Process) {
  const timespec limit{static_cast<time_t>(nanos / 1'000'000'000), static_cast<long>(nanos % 1'000'000'000)};
  detail::futexWait(word, expected, &limit, scope);
}

// Wakes at most `count` threads that sleep on `word`.
inline void futexWake(const std::atomic<uint32_t>& word, int count = kFutexAll,
                      FutexScope scope = FutexScope::Process) {
  ::syscall(SYS_futex, &word, scope == FutexScope::Process ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, count, nullptr, nullptr,
            0);
}

}  // namespace jccl
