// Connections whose slots kernels of a GPU read and write, in memory of the host: where GPUs cannot reach each other's
// memory. The engine makes the connections as for itself, by shared memory or a network, and runs no operation over
// them.
//
//     kernel ── slot in pinned memory ── peer's kernel                        on one host
//     kernel ── slot in pinned memory ── proxies, the network ── slot ── kernel   between hosts: a proxy thread moves them
//     kernel ── slot in the GPU's memory ═ adapters ═ slot in the GPU's memory ── kernel   SIMPLE, with GPUDirect RDMA
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/progress_engine.h"
#include "engine/staging_activity.h"
#include "primitives/control_words.h"
#include "transport/net.h"

namespace jccl {

// The two ends of one channel to one peer. The data of SIMPLE slots may be in memory of the GPU, which an adapter
// reaches (GPUDirect RDMA); everything else is in memory of the host, and so are these where they are null.
struct StagedEnds {
  uint8_t* sendBlock = nullptr;
  void* sendHead = nullptr;
  uint8_t* sendSlots = nullptr;
  uint8_t* recvBlock = nullptr;
  void* recvHead = nullptr;
  uint8_t* recvSlots = nullptr;
};

// Memory of a GPU for such slots, and which connections use them: those of the first use are at its begin, each takes
// ConnectionShape::simpleSlotsBytes().
struct DeviceSlots {
  struct Use {
    int peer = -1;
    int channel = 0;
    bool sends = false;                        // the connection to the peer, otherwise the one from it
    int adapter = NetDeviceNumbers::kUnknown;  // by which it goes, as the plan numbers them
  };
  NetDeviceMemory memory;
  std::vector<Use> uses;
};

// A thread that moves the network while operations are in flight on the GPU: no thread of the host waits in them.
class StagingProxy {
 public:
  // What joins it to ranks that forward data for it, or for which it does: see engine/forwarding.h.
  struct Forwarding {
    StagingCounts* counts = nullptr;         // that others share; null: nothing is forwarded
    std::vector<StagingCounts*> forwarders;  // of those that send for this rank
    std::function<bool()> broken;  // whether one of them, or what reduces for it, has failed; empty: nothing can
  };

  // `controls` end the kernels' waits: with Code::Transport once the network has failed, after `failed` was called. They stay
  // until the activity is closed, or as long as this object. While an operation is in flight the thread polls
  // without a pause until nothing has moved for so long; `spinNanos` 0 is for hosts that have no core for it.
  StagingProxy(ProgressEngine& network, const ChannelControls& controls, std::function<void()> failed,
               int64_t spinNanos = 0)
      : StagingProxy(network, controls, std::move(failed), spinNanos, Forwarding()) {}
  StagingProxy(ProgressEngine& network, const ChannelControls& controls, std::function<void()> failed,
               int64_t spinNanos, Forwarding forwarding);
  ~StagingProxy();
  StagingProxy(const StagingProxy&) = delete;
  StagingProxy& operator=(const StagingProxy&) = delete;

  static constexpr int64_t kSpinNanos = 10'000'000;

  // An error if there is no thread to move anything.
  const Status& started() const { return started_; }

  StagingActivity& activity() { return activity_; }

 private:
  // The thread's place in its polls.
  struct Progress {
    static constexpr int64_t kFirstWaitNanos = 20'000;

    int idle = 0;
    int64_t wait = kFirstWaitNanos;
    int64_t moved = monotonicNanos();
    uint32_t seen = 0;
    bool moves = false;  // since the network's own thread was last kicked
    bool broken = false;
    bool reported = false;
  };

  void run();
  bool round(Progress& at);

  ProgressEngine& network_;
  const ChannelControls controls_;
  const std::function<void()> failed_;
  const int64_t spinNanos_;
  const std::function<bool()> othersBroken_;
  StagingActivity activity_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  const Status started_;  // after everything that the thread uses
};

}  // namespace jccl
