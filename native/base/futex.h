// Linux futexes: threads sleep on a word for as long as it has a value.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace jccl {

// Whose threads share a word: those of one process, or of all that map its memory.
enum class FutexScope { Process, Shared };

constexpr int kFutexAll = INT_MAX;

namespace detail {
inline void futexWait(const std::atomic<uint32_t>& word, uint32_t expected, const timespec* limit, FutexScope scope) {
  ::syscall(SYS_futex, &word, scope == FutexScope::Process ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, expected, limit, nullptr,
            0);
}
}  // namespace detail

// Sleeps while `word` is `expected`. Can return early: the caller checks the word again.
inline void futexWait(const std::atomic<uint32_t>& word, uint32_t expected, FutexScope scope = FutexScope::Process) {
  detail::futexWait(word, expected, nullptr, scope);
}

// The same for at most `nanos`; returns at once where that is negative.
inline void futexWaitFor(const std::atomic<uint32_t>& word, uint32_t expected, int64_t nanos,
                         FutexScope scope = FutexScope::Process) {
  const timespec limit{static_cast<time_t>(nanos / 1'000'000'000), static_cast<long>(nanos % 1'000'000'000)};
  detail::futexWait(word, expected, &limit, scope);
}

// Wakes at most `count` of the threads that sleep on `word`.
inline void futexWake(const std::atomic<uint32_t>& word, int count = kFutexAll,
                      FutexScope scope = FutexScope::Process) {
  ::syscall(SYS_futex, &word, scope == FutexScope::Process ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, count, nullptr, nullptr,
            0);
}

}  // namespace jccl
