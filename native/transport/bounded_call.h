// Calls of foreign code that may never return.
#pragma once

#include <cstdint>
#include <functional>

namespace jccl {

// Runs it on a thread of its own. Returns whether it has returned within this time; otherwise it goes on, and what it uses must
// stay: pass what it owns by shared pointers.
bool callBounded(const char* thread, int64_t timeoutNanos, std::function<void()> call);

}  // namespace jccl
