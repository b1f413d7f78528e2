// Work that the progress engine does in small steps, on a waiting thread or on its own.
#pragma once

#include <cstdint>

namespace jccl {

// The callbacks of one engine run one at a time, under its lock, on the thread that polls.
class ProgressCallback {
 public:
  virtual ~ProgressCallback() = default;

  // Does all work that is possible without waiting. Returns the amount of work done; 0: there was none.
  virtual int poll(int64_t nowNanos) = 0;

  // Returns true if data moved a moment ago, so that more may be in flight and poll() is worth calling again without an
  // event.
  virtual bool expecting() const { return false; }

  // Returns true if work is left that must continue even if no thread waits for it.
  virtual bool pending() const { return false; }

  // Returns the time by which poll() must be called again even if nothing happens; INT64_MAX: no such time.
  virtual int64_t nextDeadlineNanos() const { return INT64_MAX; }
};

}  // namespace jccl
