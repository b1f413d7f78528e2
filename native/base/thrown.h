// Catches the exceptions of native threads: each becomes a status or a log record, and none ends the process.
#pragma once

#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace jccl {

// Converts the exception that the calling catch block handles. Memory may be exhausted, so the short texts need no
// allocation.
inline Status thrownStatus() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {Code::NoMemory, "no memory"};
  } catch (const std::exception& error) {
    try {
      return Status::internal(error.what());
    } catch (...) {
      return {Code::NoMemory, "no memory"};
    }
  } catch (...) {
    return {Code::Internal, "unknown error"};
  }
}

// Calls `body`, which returns a Status. An exception becomes a Status, too.
template <typename Body>
Status orThrown(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return thrownStatus();
  }
}

// Logs the exception that the calling catch block handles, if there is memory for that.
inline void logThrown(const char* thread) noexcept {
  const Status thrown = thrownStatus();
  try {
    logMessage(LogLevel::Error, "thread", std::string("thread=") + thread + ": unexpected: " + thrown.message());
  } catch (...) {
    return;
  }
}

}  // namespace jccl
