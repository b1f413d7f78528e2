// Threads for all channels except channel 0, which runs on the operation's own thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/worker.h"

namespace jccl {

// Created when an operation needs more than one channel for the first time.
class Workers {
 public:
  // `job(channel)` runs the share of a channel of the operation in flight.
  Workers(Worker::Holds holds, std::function<void(int channel)> job) : holds_(std::move(holds)), job_(std::move(job)) {}

  // Makes sure that channels 1 .. channels-1 have a thread.
  Status provide(int channels);

  // Starts the job on channels 1 .. channels-1.
  void start(int channels);

  // Returns true if all jobs have ended.
  bool haveEnded(int channels) const;

  // Waits until all jobs have ended. Returns false if one of them will never end (Worker::join).
  bool join(int channels);

 private:
  const Worker::Holds holds_;
  std::function<void(int)> job_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [i] serves channel i + 1
};

}  // namespace jccl
