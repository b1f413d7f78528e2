// A piece of work that is driven, never drives itself.
#pragma once

#include <cstdint>

namespace jccl {

// Agents of one engine run one at a time, under its lock, on whichever thread drives.
class Agent {
 public:
  virtual ~Agent() = default;

  // Does what can be done without waiting; returns how much that was (0: nothing to do now).
  virtual int doWork(int64_t nowNanos) = 0;

  // Did data move a moment ago, so that more may be on its way? Then doWork() is worth calling again without an event.
  virtual bool expecting() const { return false; }

  // Is there work left that must go on although nobody waits for it?
  virtual bool pending() const { return false; }

  // When doWork() wants to be called again even if nothing happens; INT64_MAX: never.
  virtual int64_t nextDeadlineNanos() const { return INT64_MAX; }
};

}  // namespace jccl
