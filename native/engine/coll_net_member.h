// A rank's part in CollNet, a network that reduces, which a plug-in makes available.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/coll_net_staging.h"
#include "engine/engine.h"
#include "engine/network_slots.h"
#include "engine/staging.h"
#include "transport/coll_net.h"

namespace jccl {

// First every rank calls offer(), whose error says why this rank cannot use CollNet. If all ranks offer it, the leaders
// of each group call listen() and connect(). Then all ranks call use() or stage(); or drop() if any rank failed. One
// thread at a time may call these methods; any thread may call failed() and error() after them.
class CollNetMember {
 public:
  // `jobKey`: the same on all ranks of a communicator.
  CollNetMember(uint64_t jobKey, int ranks, CollNetLimits limits) : jobKey_(jobKey), ranks_(ranks), limits_(limits) {}

  // `plugin`: see openCollNetPlugin.
  Status offer(const std::string& plugin, std::vector<uint8_t>* offer);
  Status listen(int group, std::vector<uint8_t>* handle);
  Status connect(int group, const std::vector<std::vector<uint8_t>>& handles, int member, int64_t timeoutNanos);
  // Lets the engine use CollNet; must follow Engine::setHosts. `leaders`: the leading ranks, by group and host.
  // `common`: the abilities that all offers contain.
  Status use(Engine& engine, const std::vector<std::vector<int>>& leaders, const CollNetOffer& common);
  void drop();
  // Called instead of use() if kernels of a GPU use CollNet. Sets `ends` by group: channel i uses ends[i]. The pointers
  // in ends[i] are null if another rank leads this host in group i. `ranksOfHost`: see CollNetLink.
  Status stage(NetworkSlots& slots, int groups, const CollNetOffer& common, int ranksOfHost,
               std::vector<StagedEnds>& ends);
  // Returns the `common` of stage(), which exists as long as this object.
  const CollNetOffer& staged() const { return common_; }

  // Start and stop the thread that moves the data of kernels; without stage(), they do nothing. `activity` must exist
  // until stop().
  Status start(StagingActivity& activity) { return staging_ == nullptr ? Status::ok() : staging_->start(activity); }
  void stop() {
    if (staging_ != nullptr) staging_->stop();
  }
  bool isStaged() const { return staging_ != nullptr; }
  bool failed() const { return staging_ != nullptr && staging_->failed(); }
  // Returns why CollNet has failed, or an empty string.
  std::string error() const;

 private:
  const uint64_t jobKey_;
  const int ranks_;
  const CollNetLimits limits_;
  std::unique_ptr<CollNet> network_;
  std::unique_ptr<CollNetStaging> staging_;
  CollNetOffer common_;
};

}  // namespace jccl
