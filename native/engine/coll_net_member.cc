#include "engine/coll_net_member.h"

#include <algorithm>

namespace jccl {

Status CollNetMember::offer(const std::string& plugin, std::vector<uint8_t>* offer) {
  if (Status opened = CollNet::open(plugin, jobKey_, limits_, &network_); !opened) return opened;
  *offer = network_->offer().encode();
  return Status::ok();
}

Status CollNetMember::listen(int group, std::vector<uint8_t>* handle) {
  if (network_ == nullptr) return Status::invalid("collnet: listen before an offer");
  CollNetHandle made{};
  if (Status listening = network_->listen(group, &made); !listening) return listening;
  handle->assign(made.begin(), made.end());
  return Status::ok();
}

Status CollNetMember::connect(int group, const std::vector<std::vector<uint8_t>>& handles, int member,
                              int64_t timeoutNanos) {
  if (network_ == nullptr) return Status::invalid("collnet: connect before an offer");
  std::vector<CollNetHandle> all(handles.size());
  for (size_t i = 0; i < handles.size(); ++i) {
    if (handles[i].size() != all[i].size()) {
      return Status::transport("collnet: member=" + std::to_string(i) + " sent a handle of bytes=" +
                               std::to_string(handles[i].size()) + ", expected " + std::to_string(all[i].size()));
    }
    std::copy(handles[i].begin(), handles[i].end(), all[i].begin());
  }
  return network_->connect(group, all, member, timeoutNanos);
}

Status CollNetMember::use(Engine& engine, const std::vector<std::vector<int>>& leaders, const CollNetOffer& common) {
  if (network_ == nullptr) return Status::invalid("collnet: use before an offer");
  CollNetSetup setup;
  setup.common = common;
  for (size_t group = 0; group < leaders.size(); ++group) {
    setup.groups.push_back({leaders[group], network_->group(static_cast<int>(group))});
  }
  return engine.setCollNet(setup);
}

void CollNetMember::drop() {
  staging_.reset();
  network_.reset();
}

Status CollNetMember::stage(NetworkSlots& slots, int groups, const CollNetOffer& common, int ranksOfHost,
                            std::vector<StagedEnds>& ends) {
  if (network_ == nullptr || staging_ != nullptr) {
    return Status::invalid("collnet: stage once, after an offer and before the staging starts");
  }
  common_ = common;
  common_.gathers = common.gathers && ranksOfHost > 0;
  std::vector<CollNetStaging::Led> led;
  ends.assign(static_cast<size_t>(groups), {});
  for (int group = 0; group < groups; ++group) {
    CollNetStaging::Led one;
    one.group = network_->group(group);
    if (one.group == nullptr) continue;
    for (ConnectionMemory* end : {&one.toNetwork, &one.fromNetwork}) {
      if (Status made = slots.make(*end); !made) return made;
    }
    led.push_back(one);
    ends[static_cast<size_t>(group)] = {one.toNetwork.block,   one.toNetwork.head,   nullptr,
                                        one.fromNetwork.block, one.fromNetwork.head, nullptr};
  }
  staging_ = std::make_unique<CollNetStaging>(led, ranks_, ranksOfHost);
  return Status::ok();
}

std::string CollNetMember::error() const {
  if (network_ == nullptr) return {};
  const Status own = network_->error();
  return own && staging_ != nullptr ? staging_->error().message() : own.message();
}

}  // namespace jccl
