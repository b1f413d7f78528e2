// Work that a waiting thread, or the engine's own, does a bit of at a time.
#pragma once

#include <cstdint>

namespace jccl {

// The callbacks of one engine run one at a time, under its lock, on the thread that polls.
class ProgressCallback {
 public:
  virtual ~ProgressCallback() = default;

  // Does what can be done without waiting; returns how much that was (0: nothing to do now).
  virtual int poll(int64_t nowNanos) = 0;

  // Did data move a moment ago, so that more may be in flight? Then poll() is worth calling again without an event.
  virtual bool expecting() const { return false; }

  // Is there work left that must go on although no thread waits for it?
  virtual bool pending() const { return false; }

  // When poll() must be called again even if nothing happens; INT64_MAX: never.
  virtual int64_t nextDeadlineNanos() const { return INT64_MAX; }
};

}  // namespace jccl
