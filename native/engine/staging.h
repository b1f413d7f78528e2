// Staged connections: kernels of GPUs that cannot reach each other's memory read and write slots in memory of the host.
// The engine makes these connections like its own, over shared memory or a network, but runs no operations over them.
//
//     kernel ── slot in pinned memory ── peer's kernel                        on one host
//     kernel ── slot in pinned memory ── proxies, the network ── slot ── kernel   between hosts, by a proxy thread
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

// This rank's ends of the two connections with a peer on one channel. `sendSlots` and `recvSlots` are GPU memory for
// the data of SIMPLE slots, which an adapter accesses (GPUDirect RDMA). If they are null, this data is in host memory.
// All other parts of the connections are always in host memory.
struct StagedEnds {
  uint8_t* sendBlock = nullptr;
  void* sendHead = nullptr;
  uint8_t* sendSlots = nullptr;
  uint8_t* recvBlock = nullptr;
  void* recvHead = nullptr;
  uint8_t* recvSlots = nullptr;
};

// Memory of a GPU for SIMPLE slots, and the connections that use it, in the order of their slots in the memory. The
// slots of each connection take ConnectionShape::simpleSlotsBytes().
struct DeviceSlots {
  struct Use {
    int peer = -1;
    int channel = 0;
    bool sends = false;                        // true: the connection to the peer; false: the connection from it
    int adapter = NetDeviceNumbers::kUnknown;  // the plan's number of the network device that the connection uses
  };
  NetDeviceMemory memory;
  std::vector<Use> uses;
};

// A thread that moves data over the network while operations are in flight on the GPU, because no thread of the host
// waits in these operations.
class StagingProxy {
 public:
  // Counts of operations in flight that this rank shares with other ranks of its host.
  struct Sharing {
    StagingCounts* counts = nullptr;  // shared with the ranks whose data this rank moves; null: it moves only its own
    std::vector<StagingCounts*> others;  // the counts of the ranks that move data of this rank
    std::function<bool()> broken;        // returns true if an attachment failed; empty: there is none
  };

  // When the network or an attachment fails, the thread calls `failed` and then ends the waits of kernels with
  // Code::Transport, by writing to `controls`. The words of `controls` must exist until the activity is closed or this
  // object is destroyed. `spinNanos`: while an operation is in flight, the thread polls without a pause until nothing
  // has moved for this long; use 0 on hosts that have no core for the thread.
  StagingProxy(ProgressEngine& network, const ChannelControls& controls, std::function<void()> failed,
               int64_t spinNanos = 0)
      : StagingProxy(network, controls, std::move(failed), spinNanos, Sharing()) {}
  StagingProxy(ProgressEngine& network, const ChannelControls& controls, std::function<void()> failed,
               int64_t spinNanos, Sharing sharing);
  ~StagingProxy();
  StagingProxy(const StagingProxy&) = delete;
  StagingProxy& operator=(const StagingProxy&) = delete;

  static constexpr int64_t kSpinNanos = 10'000'000;

  // Returns an error if the thread could not be started.
  const Status& started() const { return started_; }

  StagingActivity& activity() { return activity_; }

 private:
  // The state of the thread between two rounds.
  struct Progress {
    static constexpr int64_t kFirstWaitNanos = 20'000;

    int idle = 0;
    int64_t wait = kFirstWaitNanos;
    int64_t moved = monotonicNanos();
    uint32_t seen = 0;
    bool moves = false;  // operations were in flight since the network's own thread was last kicked
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
  const Status started_;  // declared last: its initialisation starts the thread, which uses the other members
};

}  // namespace jccl
