// The part of Engine that sets and checks connections, rings, trees and hosts.
#include <algorithm>

#include "engine/engine.h"
#include "engine/plan_arguments.h"

namespace jccl {

Status Engine::connectLocal(int peer, TransportKind transport, uint8_t* base) {
  if (Status status = checkPeer(peer, config_.rank, config_.size); !status) return status;
  const Segment segment(base, shape_);
  if (Status status = segment.verify(peer, config_.token); !status) return status;
  if (transports_[peer] == TransportKind::None) ++localPeers_;
  transports_[peer] = transport;
  peerSegments_[peer] = segment;
  zeroCopy_.addPeer(peer, transport, segment);
  coreSharing_.addPeer(peer, segment.cpuPlacement());
  for (int c = 0; c < config_.channels; ++c) {
    uint8_t* ours = segment_.block(peer, c);
    uint8_t* theirs = segment.block(config_.rank, c);
    SendConnection& send = channels_[c]->sendTo(peer);
    send.memory = {theirs, reinterpret_cast<HeadLine*>(ours + shape_.connection.headOffset()), shape_.connection};
    send.memory.rotates = shape_.rotates;
    send.receiverEvents = &segment.events();
    send.transport = transport;
    RecvConnection& recv = channels_[c]->recvFrom(peer);
    recv.memory = {ours, reinterpret_cast<HeadLine*>(theirs + shape_.connection.headOffset()), shape_.connection};
    recv.memory.rotates = shape_.rotates;
    recv.senderEvents = &segment.events();
    recv.sender = &segment.cpuPlacement();
    recv.transport = transport;
  }
  return Status::ok();
}

Status Engine::connectNet(int peer, TransportKind network, int channel, const ConnectionMemory& sendMemory,
                          const ConnectionMemory& recvMemory, FirstUse* firstUse) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank || channel < 0 || channel >= config_.channels) {
    return Status::invalid("peer=" + std::to_string(peer) + " channel=" + std::to_string(channel) +
                           ", expected another rank below size=" + std::to_string(config_.size) +
                           " and a channel below channels=" + std::to_string(config_.channels));
  }
  transports_[peer] = network;
  SendConnection& send = channels_[channel]->sendTo(peer);
  send.memory = sendMemory;
  send.firstUse = firstUse;
  send.transport = network;
  RecvConnection& recv = channels_[channel]->recvFrom(peer);
  recv.memory = recvMemory;
  recv.transport = network;
  return Status::ok();
}

StagedEnds Engine::connectionEnds(int peer, int channel) {
  SendConnection& send = channels_[channel]->sendTo(peer);
  const RecvConnection& recv = channels_[channel]->recvFrom(peer);
  // Kernels do not report their first step, so the connection counts as used from this call on.
  if (send.firstUse != nullptr) send.firstUse->noteFirstUse();
  return {send.memory.block, send.memory.head, send.memory.deviceSlots,
          recv.memory.block, recv.memory.head, recv.memory.deviceSlots};
}

Status Engine::setProgress(ProgressEngine* progress) {
  control_.progress = progress;
  control_.policy.addNetwork(progress->hasEvents());
  return progress->mayBlock() ? openOperationThread() : Status::ok();
}

Status Engine::openOperationThread() {
  if (operationThread_ != nullptr) return Status::ok();
  operationThread_ = std::make_unique<Worker>(holds(), 2 * config_.sharing() <= config_.shared());
  return operationThread_->open("jccl-ch0", [this] { operationBody_(); });
}

// Returns a function that returns true if the given thread is in a call of a network that will never return.
Worker::Holds Engine::holds() {
  return [this](std::thread::id thread) {
    return (control_.progress != nullptr && control_.progress->holds(thread)) ||
           std::any_of(channels_.begin(), channels_.end(), [thread](const auto& channel) {
             return channel->added() != nullptr && channel->added()->holds(thread);
           });
  };
}

Status Engine::setRing(int channel, const std::vector<int>& order) {
  if (Status status = checkRing(channel, order, config_.size, config_.channels); !status) return status;
  channels_[channel]->setRing(order);
  return Status::ok();
}

Status Engine::setHosts(const std::vector<int>& hostOf) {
  if (Status valid = checkHosts(hostOf, config_.size); !valid) return valid;
  for (const auto& channel : channels_) channel->setHosts(RankHosts(hostOf));
  return Status::ok();
}

Status Engine::addSchedules(std::vector<std::unique_ptr<AddedSchedule>> schedules) {
  const auto count = static_cast<int>(schedules.size());
  if (count < 1 || count > config_.channels) {
    return Status::invalid("schedules=" + std::to_string(count) +
                           ", expected 1 to channels=" + std::to_string(config_.channels));
  }
  bool mayBlock = false;
  for (int channel = 0; channel < count; ++channel) {
    auto& schedule = schedules[static_cast<size_t>(channel)];
    mayBlock = mayBlock || schedule->mayBlock();
    channels_[channel]->add(std::move(schedule));
  }
  addedSchedules_ = count;
  return mayBlock ? openOperationThread() : Status::ok();
}

void Engine::dropSchedules() {
  for (const auto& channel : channels_) channel->add(nullptr);
  addedSchedules_ = 0;
}

Status Engine::setTree(int channel, int up, const std::vector<int>& down) {
  if (Status status = checkTree(channel, up, down, config_.rank, config_.size, config_.channels, kMaxTreeChildren);
      !status) {
    return status;
  }
  channels_[channel]->setTree(up, down);
  return Status::ok();
}

Status Engine::checkPlan() const {
  for (int c = 0; c < config_.channels; ++c) {
    if (!channels_[c]->hasRing()) {
      return Status::invalid("channel=" + std::to_string(c) + " has no ring; call setRing for every channel first");
    }
    for (const auto& need : channels_[c]->needs()) {
      const bool connected = (!need.send || channels_[c]->sendTo(need.peer).transport != TransportKind::None) &&
                             (!need.recv || channels_[c]->recvFrom(need.peer).transport != TransportKind::None);
      if (!connected) {
        return Status::invalid("channel=" + std::to_string(c) + " needs peer=" + std::to_string(need.peer) +
                               ", which is not connected; call connect for it first");
      }
    }
  }
  return Status::ok();
}

Status Engine::checkConnected(std::span<const PointToPointTask> tasks) const {
  for (const auto& task : tasks) {
    if (task.peer != config_.rank && transports_[task.peer] == TransportKind::None) {
      return Status::invalid("peer=" + std::to_string(task.peer) + " is not connected; call connect for it first");
    }
  }
  return Status::ok();
}

}  // namespace jccl
