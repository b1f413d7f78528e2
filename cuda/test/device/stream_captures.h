// Stream captures of the emulated driver: the calls that a thread may make during a capture, and the effect of
// forbidden calls on the capture. Source: the driver API's documentation of cuStreamBeginCapture and
// cuThreadExchangeStreamCaptureMode. A stream that waits for an event of a captured stream joins the capture; the
// capture must wait for the joined stream before it ends.
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

  // Errors that driver_api.h does not name: CUDA_ERROR_STREAM_CAPTURE_MERGE and CUDA_ERROR_STREAM_CAPTURE_UNJOINED.
  static constexpr auto kMerge = static_cast<Result>(902);
  static constexpr auto kUnjoined = static_cast<Result>(904);

  static Mode exchangeMode(Mode mode) { return std::exchange(modeOfThread(), mode); }

  Result begin(const void* stream, Mode mode) {
    const std::lock_guard lock(mutex_);
    const Capture capture{mode, std::this_thread::get_id(), false, stream, ++lastId_, 0, 0};
    return captures_.try_emplace(stream, capture).second ? Result::Success : Result::InvalidValue;
  }

  // Returns the id of the capture that the stream is part of, or 0.
  uint64_t idOf(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    return found == captures_.end() ? 0 : found->second.id;
  }
  // Makes the stream join the capture. Returns the stream on which the capture began, or null if it has ended.
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
  // Called when an item is put on a stream, captured or not.
  void put(const void* stream) {
    const std::lock_guard lock(mutex_);
    if (const auto found = captures_.find(stream); found != captures_.end()) ++found->second.puts;
  }
  uint64_t putsOf(const void* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(stream);
    return found == captures_.end() ? 0 : found->second.puts;
  }
  // Called when another stream waits for the first `puts` items of the captured stream.
  void waitFor(const void* stream, uint64_t puts) {
    const std::lock_guard lock(mutex_);
    Capture& capture = captures_.at(stream);
    capture.waitedFor = std::max(capture.waitedFor, puts);
  }

  // Ends the capture for all its streams. Fails without an effect if the capture did not begin on this stream or this
  // thread may not end it.
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

  // Called by potentially unsafe calls. If captures forbid such calls, invalidates these captures and returns an error.
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

  // Invalidates the captures of streams for which `ends` returns true.
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
    const void* origin;  // stream on which the capture began
    uint64_t id;
    uint64_t puts;       // number of items put on the stream
    uint64_t waitedFor;  // number of these items for which other streams wait
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
