// What kernels of a GPU exchange with a network that reduces: the leader's links, and the thread that moves them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/coll_net_link.h"
#include "engine/staging_activity.h"

namespace jccl {

// The thread can be left behind in a call of a plug-in, with the group that it is in (CallWatch).
class CollNetStaging {
 public:
  struct Led {
    ConnectionMemory toNetwork, fromNetwork;
    CollNetGroup* group = nullptr;
  };
  // By the groups that this rank leads. Groups, memory and what counts operations live longer than this object. `ranks` and
  // `ranksOfHost` as in CollNetLink.
  CollNetStaging(const std::vector<Led>& led, int ranks, int ranksOfHost);
  ~CollNetStaging() { stop(); }
  CollNetStaging(const CollNetStaging&) = delete;
  CollNetStaging& operator=(const CollNetStaging&) = delete;

  // Moves them while operations are in flight, until stop. Once.
  Status start(StagingActivity& activity);
  void stop();

  // By any thread. A failure is final.
  bool failed() const;
  Status error() const;

 private:
  // The thread's as well, which may stay.
  struct Moved {
    std::vector<CollNetLink> links;
    std::atomic<bool> stopping{false}, failed{false};
    std::atomic<uint32_t> ended{0};
    std::mutex mutex;
    Status error;  // guarded by it

    void run(StagingActivity& activity);
  };

  bool isStuck() const;

  const std::shared_ptr<Moved> moved_ = std::make_shared<Moved>();
  std::vector<CollNetGroup*> groups_;
  StagingActivity* activity_ = nullptr;
  std::thread thread_;
};

}  // namespace jccl
