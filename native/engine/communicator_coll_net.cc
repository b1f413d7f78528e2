// The part of Communicator that offers, connects and uses a network that reduces (CollNet).
#include <algorithm>
#include <cstring>

#include "engine/communicator.h"

namespace jccl {
namespace {

// Limit for opening the plug-in. Initialisation does not wait longer, because the communicator works without CollNet.
constexpr int64_t kMaxOpenNanos = 20'000'000'000;

}  // namespace

Status Communicator::offerCollNet(const std::string& plugin, std::vector<uint8_t>* offer) {
  const NetConfig net = netConfig();
  const CollNetLimits limits = {std::min(net.connectTimeoutNanos, kMaxOpenNanos), net.peerTimeoutNanos};
  if (Status opened = CollNet::open(plugin, config_.engine.token[0], limits, &collNet_); !opened) return opened;
  *offer = collNet_->offer().encode();
  return Status::ok();
}

Status Communicator::listenCollNet(int group, std::vector<uint8_t>* handle) {
  if (collNet_ == nullptr) return Status::invalid("collnet: listen before an offer");
  CollNetHandle made{};
  if (Status listening = collNet_->listen(group, &made); !listening) return listening;
  handle->assign(made.begin(), made.end());
  return Status::ok();
}

Status Communicator::connectCollNet(int group, const std::vector<std::vector<uint8_t>>& handles, int member,
                                    int64_t timeoutNanos) {
  if (collNet_ == nullptr) return Status::invalid("collnet: connect before an offer");
  std::vector<CollNetHandle> all(handles.size());
  for (size_t i = 0; i < handles.size(); ++i) {
    if (handles[i].size() != all[i].size()) {
      return Status::transport("collnet: member=" + std::to_string(i) + " sent a handle of bytes=" +
                               std::to_string(handles[i].size()) + ", expected " + std::to_string(all[i].size()));
    }
    std::copy(handles[i].begin(), handles[i].end(), all[i].begin());
  }
  return collNet_->connect(group, all, member, timeoutNanos);
}

Status Communicator::useCollNet(const std::vector<std::vector<int>>& leaders, const CollNetOffer& common) {
  if (collNet_ == nullptr) return Status::invalid("collnet: use before an offer");
  CollNetSetup setup;
  setup.common = common;
  for (size_t group = 0; group < leaders.size(); ++group) {
    setup.groups.push_back({leaders[group], collNet_->group(static_cast<int>(group))});
  }
  return engine_->setCollNet(setup);
}

void Communicator::dropCollNet() {
  collNetStaging_.reset();
  collNet_.reset();
}

Status Communicator::stageCollNet(int groups, const CollNetOffer& common, int ranksOfHost,
                                  std::vector<StagedEnds>& ends) {
  if (collNet_ == nullptr || collNetStaging_ != nullptr || stagingProxy_ != nullptr) {
    return Status::invalid("collnet: stage once, after an offer and before the staging starts");
  }
  stagedOffer_ = common;
  stagedOffer_.gathers = common.gathers && ranksOfHost > 0;
  std::vector<CollNetStaging::Led> led;
  ends.assign(static_cast<size_t>(groups), {});
  for (int group = 0; group < groups; ++group) {
    CollNetStaging::Led one;
    one.group = collNet_->group(group);
    if (one.group == nullptr) continue;
    for (ConnectionMemory* end : {&one.toNetwork, &one.fromNetwork}) {
      if (Status made = makeSlots(*end); !made) return made;
    }
    led.push_back(one);
    ends[static_cast<size_t>(group)] = {one.toNetwork.block,   one.toNetwork.head,   nullptr,
                                        one.fromNetwork.block, one.fromNetwork.head, nullptr};
  }
  collNetStaging_ = std::make_unique<CollNetStaging>(led, config_.engine.size, ranksOfHost);
  return Status::ok();
}

}  // namespace jccl
