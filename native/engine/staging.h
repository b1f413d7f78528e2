// Connections whose slots kernels of a GPU read and write, in memory of the host: where GPUs cannot reach each other's
// memory. The engine makes the connections as for itself, by shared memory or a network, and runs no operation over them.
//
//     kernel ── slot in pinned memory ── peer's kernel                        on one machine
//     kernel ── slot in pinned memory ── proxies, the network ── slot ── kernel   between machines: the pump moves them
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/progress_engine.h"
#include "engine/staging_activity.h"

namespace jccl {

// The two ends of one channel to one peer.
struct StagedEnds {
  uint8_t* sendBlock = nullptr;
  void* sendHead = nullptr;
  uint8_t* recvBlock = nullptr;
  void* recvHead = nullptr;
};

// A thread that moves the network while operations are in flight on the GPU: nobody on the host waits in them.
class StagingPump {
 public:
  // `abort` is the word that ends the kernels' waits: set to Code::Transport once the network has failed, after `failed` was
  // called. It stays until the activity is closed, or as long as this object.
  StagingPump(ProgressEngine& network, uint32_t* abort, std::function<void()> failed);
  ~StagingPump();
  StagingPump(const StagingPump&) = delete;
  StagingPump& operator=(const StagingPump&) = delete;

  StagingActivity& activity() { return activity_; }

 private:
  void run();

  ProgressEngine& network_;
  uint32_t* const abort_;
  const std::function<void()> failed_;
  StagingActivity activity_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace jccl
