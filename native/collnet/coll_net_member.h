// A rank's part in CollNet, a network that reduces, which a plug-in makes available.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "collnet/coll_net.h"
#include "collnet/coll_net_staging.h"
#include "engine/attachment.h"
#include "engine/communicator.h"
#include "engine/staging.h"

namespace jccl {

// First every rank calls offer(), whose error says why this rank cannot use CollNet. If all ranks offer it, the leaders
// of each group call listen() and connect(). Then all ranks call use() or stage(); or drop() if any rank failed. One
// thread at a time may call these methods; any thread may call failed() and error() after them.
class CollNetMember final : public Attachment {
 public:
  explicit CollNetMember(Communicator& host) : host_(host) {}

  // `plugin`: see openCollNetPlugin.
  Status offer(const std::string& plugin, std::vector<uint8_t>* offer);
  Status listen(int group, std::vector<uint8_t>* handle);
  Status connect(int group, const std::vector<std::vector<uint8_t>>& handles, int member, int64_t timeoutNanos);
  // Lets the engine use CollNet; must follow Engine::setHosts. `leaders`: the leading ranks, by group and host.
  // `common`: the abilities that all offers contain.
  Status use(const std::vector<std::vector<int>>& leaders, const CollNetOffer& common);
  void drop();
  // Called instead of use() if kernels of a GPU use CollNet, before Communicator::startStaging. Sets `ends` by group:
  // channel i uses ends[i]. The pointers in ends[i] are null if another rank leads this host in group i. `ranksOfHost`:
  // see CollNetLink.
  Status stage(int groups, const CollNetOffer& common, int ranksOfHost, std::vector<StagedEnds>& ends);
  // Returns the `common` of stage(), which exists as long as this object.
  const CollNetOffer& staged() const { return common_; }

  Status startStaging(StagingActivity& activity) override {
    return staging_ == nullptr ? Status::ok() : staging_->start(activity);
  }
  void stopStaging() override {
    if (staging_ != nullptr) staging_->stop();
  }
  bool failed() override { return staging_ != nullptr && staging_->failed(); }
  std::string error() const override;

 private:
  Communicator& host_;
  std::unique_ptr<CollNet> network_;
  std::unique_ptr<CollNetStaging> staging_;
  CollNetOffer common_;
};

}  // namespace jccl
