#include "collnet/coll_net_member.h"

#include <algorithm>
#include <utility>

#include "collnet/coll_net_channel.h"

namespace jccl {
namespace {

// Limit for opening a plug-in. Initialisation does not wait longer, because the communicator works without CollNet.
constexpr int64_t kMaxOpenNanos = 20'000'000'000;

}  // namespace

Status CollNetMember::offer(const std::string& plugin, std::vector<uint8_t>* offer) {
  const NetConfig net = host_.netConfig();
  const CollNetLimits limits = {std::min(net.connectTimeoutNanos, kMaxOpenNanos), net.peerTimeoutNanos};
  if (Status opened = CollNet::open(plugin, host_.token(), limits, &network_); !opened) return opened;
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

Status CollNetMember::use(const std::vector<std::vector<int>>& leaders, const CollNetOffer& common) {
  if (network_ == nullptr) return Status::invalid("collnet: use before an offer");
  Engine& engine = host_.engine();
  if (leaders.size() > static_cast<size_t>(engine.channels())) {
    return Status::invalid("groups=" + std::to_string(leaders.size()) +
                           ", expected at most channels=" + std::to_string(engine.channels()));
  }
  std::vector<std::unique_ptr<AddedSchedule>> schedules(leaders.size());
  for (size_t group = 0; group < leaders.size(); ++group) {
    const auto number = static_cast<int>(group);
    const CollNetChannel::Group one = {leaders[group], network_->group(number)};
    Status made = CollNetChannel::make(engine.channel(number), one, common, &schedules[group]);
    if (!made) return made;
  }
  return engine.addSchedules(std::move(schedules));
}

void CollNetMember::drop() {
  host_.engine().dropSchedules();  // they use groups of the network
  staging_.reset();
  network_.reset();
}

Status CollNetMember::stage(int groups, const CollNetOffer& common, int ranksOfHost, std::vector<StagedEnds>& ends) {
  if (network_ == nullptr || staging_ != nullptr || host_.isStaging()) {
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
      if (Status made = host_.slots().make(*end); !made) return made;
    }
    led.push_back(one);
    ends[static_cast<size_t>(group)] = {one.toNetwork.block,   one.toNetwork.head,   nullptr,
                                        one.fromNetwork.block, one.fromNetwork.head, nullptr};
  }
  staging_ = std::make_unique<CollNetStaging>(led, host_.engine().size(), ranksOfHost);
  return Status::ok();
}

std::string CollNetMember::error() const {
  if (network_ == nullptr) return {};
  const Status own = network_->error();
  return own && staging_ != nullptr ? staging_->error().message() : own.message();
}

}  // namespace jccl
