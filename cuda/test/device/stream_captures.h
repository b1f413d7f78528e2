// Stream captures as the driver has them: which calls a thread may make while one is under way, and what those that it may not
// make do to it. From the driver API's documentation of cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode.
// A stream that waits for an event of a captured one joins its capture, and has to be waited for before that ends.
#pragma once

#include <algorithm>
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

  // What the library's declaration of the driver does not name.
  static constexpr auto kMerge = static_cast<Result>(902);
  static constexpr auto kUnjoined = static_cast<Result>(904);

  static Mode exchangeMode(Mode mode) { return std::exchange(modeOfThread(), mode); }

  Result begin(const void* stream, Mode mode) {
    const std::lock_guard lock(mutex_);
    const Capture capture{mode, std::this_thread::get_id(), false, stream, ++lastId_, 0, 0};
    return captures_.try_emplace(stream, capture).second ? Result::Success : Result::InvalidValue;
  }

  // Of the capture that a stream is in; 0: none.
  uint64_t idOf(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    return found == captures_.end() ? 0 : found->second.id;
  }
  // The stream joins that capture; returns the one on which it began, null where it has ended.
  const void* join(const void* stream, uint64_t id) {
    const std::lock_guard lock(mutex_);
    for (const auto& [other, capture] : captures_) {
      if (capture.id != id) continue;
      Capture joined = capture;
      joined.puts = 1;
      joined.waitedFor = 0;
      captures_.try_emplace(stream, joined);
      return joined.origin;
    }
    return nullptr;
  }
  // Something is put on a stream, which may be captured.
  void put(const void* stream) {
    const std::lock_guard lock(mutex_);
    if (const auto found = captures_.find(stream); found != captures_.end()) ++found->second.puts;
  }
  uint64_t putsOf(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    return found == captures_.end() ? 0 : found->second.puts;
  }
  // Another stream waits for so much of it.
  void waitFor(const void* stream, uint64_t puts) {
    const std::lock_guard lock(mutex_);
    Capture& capture = captures_.at(stream);
    capture.waitedFor = std::max(capture.waitedFor, puts);
  }

  // Removes it with all streams that joined, unless it did not begin here or this thread may not end it.
  Result end(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    if (found == captures_.end()) return Result::InvalidValue;
    const Capture capture = found->second;
    if (capture.origin != stream) return Result::StreamCaptureUnmatched;
    if (capture.mode != Mode::Relaxed && capture.thread != std::this_thread::get_id()) {
      return Result::StreamCaptureWrongThread;
    }
    bool waitedFor = true;
    std::erase_if(captures_, [&](const auto& entry) {
      if (entry.second.id != capture.id) return false;
      waitedFor = waitedFor && (entry.first == stream || entry.second.waitedFor == entry.second.puts);
      return true;
    });
    if (capture.invalidated) return Result::StreamCaptureInvalidated;
    return waitedFor ? Result::Success : kUnjoined;
  }

  Status statusOf(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    if (found == captures_.end()) return Status::None;
    return found->second.invalidated ? Status::Invalidated : Status::Active;
  }

  void invalidate(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    if (found == captures_.end()) return;
    const uint64_t id = found->second.id;
    for (auto& [other, capture] : captures_) capture.invalidated = capture.invalidated || capture.id == id;
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
    const void* origin;  // the stream on which it began
    uint64_t id;
    uint64_t puts;       // what the stream has
    uint64_t waitedFor;  // so much of it
  };

  static Mode& modeOfThread() {
    thread_local Mode mode = Mode::Global;
    return mode;
  }

  std::mutex mutex_;
  std::map<const void*, Capture> captures_;
  uint64_t lastId_ = 0;
};

}  // namespace jccl::emulator
