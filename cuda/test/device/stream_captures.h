// Stream captures as the driver has them: which calls a thread may make while one is under way, and what those that it may not
// make do to it. From the driver API's documentation of cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode.
#pragma once

#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cuda/driver/driver_api.h"

namespace jccl::emulator {

class StreamCaptures {
 public:
  using Result = driver::Result;
  using Mode = driver::CaptureMode;
  using Status = driver::CaptureStatus;

  static StreamCaptures& ofThisProcess() {
    static auto* captures = new StreamCaptures();
    return *captures;
  }

  static Mode exchangeMode(Mode mode) { return std::exchange(modeOfThread(), mode); }

  Result begin(const void* stream, Mode mode) {
    const std::lock_guard lock(mutex_);
    const bool fresh = captures_.try_emplace(stream, Capture{mode, std::this_thread::get_id(), false}).second;
    return fresh ? Result::Success : Result::InvalidValue;
  }

  // Removes it, unless this thread may not end it.
  Result end(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    if (found == captures_.end()) return Result::InvalidValue;
    const Capture capture = found->second;
    if (capture.mode != Mode::Relaxed && capture.thread != std::this_thread::get_id()) {
      return Result::StreamCaptureWrongThread;
    }
    captures_.erase(found);
    return capture.invalidated ? Result::StreamCaptureInvalidated : Result::Success;
  }

  Status statusOf(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    if (found == captures_.end()) return Status::None;
    return found->second.invalidated ? Status::Invalidated : Status::Active;
  }

  void invalidate(const void* stream) {
    const std::lock_guard lock(mutex_);
    if (const auto found = captures_.find(stream); found != captures_.end()) found->second.invalidated = true;
  }

  // For a call that is potentially unsafe: an error, and an end of the captures that forbid it, or success.
  Result allowUnsafe() {
    const Mode mine = modeOfThread();
    if (mine == Mode::Relaxed) return Result::Success;
    const std::lock_guard lock(mutex_);
    bool forbidden = false;
    for (auto& [stream, capture] : captures_) {
      if (capture.mode == Mode::Relaxed) continue;
      const bool ofThisThread = capture.thread == std::this_thread::get_id();
      if (!ofThisThread && (mine != Mode::Global || capture.mode != Mode::Global)) continue;
      capture.invalidated = forbidden = true;
    }
    return forbidden ? Result::StreamCaptureUnsupported : Result::Success;
  }

  // Invalidates those for which ends(stream) is true.
  template <class Ends>
  void invalidateIf(Ends&& ends) {
    const std::lock_guard lock(mutex_);
    for (auto& [stream, capture] : captures_) capture.invalidated = ends(stream) || capture.invalidated;
  }

 private:
  struct Capture {
    Mode mode;
    std::thread::id thread;
    bool invalidated;
  };

  static Mode& modeOfThread() {
    thread_local Mode mode = Mode::Global;
    return mode;
  }

  std::mutex mutex_;
  std::map<const void*, Capture> captures_;
};

}  // namespace jccl::emulator
