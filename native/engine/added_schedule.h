// An algorithm that a part of JCCL adds to a channel. docs/architecture.md explains parts.
#pragma once

#include <thread>

#include "engine/operation.h"
#include "primitives/host_primitives.h"

namespace jccl {

class AddedSchedule {
 public:
  virtual ~AddedSchedule() = default;

  // Returns true if the schedule runs this operation, provided that one count applies to all ranks. All ranks get the
  // same answer.
  virtual bool runs(Algorithm algorithm, OperationCode code) const = 0;
  // Runs the channel's share of an operation, as Channel::run does.
  virtual void run(const Operation& operation, const Transfer& transfer) = 0;

  // Returns true if run() may stay in a call for ever. Then the engine runs operations on a thread of its own.
  virtual bool mayBlock() const = 0;
  // Returns true if the thread is in a call that will never return.
  virtual bool holds(std::thread::id thread) const = 0;
};

}  // namespace jccl
