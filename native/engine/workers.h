// Threads for the channels beyond the first, which runs on the thread that runs the operation.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/worker.h"

namespace jccl {

// Made when an operation first needs more than one channel.
class Workers {
 public:
  // `job(channel)` runs the share of a channel of the operation in flight.
  Workers(Worker::Holds holds, std::function<void(int channel)> job) : holds_(std::move(holds)), job_(std::move(job)) {}

  // Makes sure that channels 1 .. channels-1 have a thread.
  Status provide(int channels);

  // Starts the job on channels 1 .. channels-1.
  void start(int channels);

  // Returns when all have ended; whether they have (see Worker).
  bool join(int channels);

 private:
  const Worker::Holds holds_;
  std::function<void(int)> job_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [i] serves channel i + 1
};

}  // namespace jccl
