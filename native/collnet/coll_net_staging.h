// Moves data between kernels of a GPU and a network that reduces (CollNet): the links of a leader and their thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "collnet/coll_net_link.h"
#include "engine/staging_activity.h"

namespace jccl {

// If a call of the plug-in does not return, the thread that made it and the group that it uses are left behind
// (CallWatch).
class CollNetStaging {
 public:
  struct Led {
    ConnectionMemory toNetwork, fromNetwork;
    CollNetGroup* group = nullptr;
  };
  // `led`: the groups that this rank leads, with their connections; both must outlive this object. `ranks` and
  // `ranksOfHost`: see CollNetLink.
  CollNetStaging(const std::vector<Led>& led, int ranks, int ranksOfHost);
  ~CollNetStaging() { stop(); }
  CollNetStaging(const CollNetStaging&) = delete;
  CollNetStaging& operator=(const CollNetStaging&) = delete;

  // Starts the thread, which moves data while operations are in flight, until stop(). Starts none if this rank leads no
  // group. Call start() once. `activity` must outlive this object.
  Status start(StagingActivity& activity);
  void stop();

  // Any thread may call failed() and error(). A failure is final.
  bool failed() const;
  Status error() const;

 private:
  // Owned by this object and by the thread, which may outlive this object.
  struct ThreadState {
    std::vector<CollNetLink> links;
    std::atomic<bool> stopping{false}, failed{false};
    std::atomic<uint32_t> ended{0};
    std::mutex mutex;
    Status error;  // guarded by `mutex`

    void run(StagingActivity& activity);
  };

  bool isStuck() const;

  const std::shared_ptr<ThreadState> state_ = std::make_shared<ThreadState>();
  std::vector<CollNetGroup*> groups_;
  StagingActivity* activity_ = nullptr;
  std::thread thread_;
};

}  // namespace jccl
