#include "pxn/forwarding_offer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "transport/shm_client.h"

namespace jccl {

ForwardingOffer::~ForwardingOffer() {
  if (forwarder_ == nullptr) return;
  forwarder_->end("has closed its communicator");
  if (id_ != 0) memory_.registry().remove(id_);
  logMessage(LogLevel::Info, "net", "PXN: forwarded bytes=" + std::to_string(forwardedBytes()));
}

Status ForwardingOffer::forward(const ConnectionShape& shape, int ranks, const NetDeviceMemory& slots,
                                std::vector<ForwardedConnection> connections) {
  const size_t needed = connections.size() * shape.simpleSlotsBytes();
  if (forwarder_ != nullptr || connections.empty() || slots.bytes < needed) {
    return Status::invalid("forwarded slots: bytes=" + std::to_string(slots.bytes) + ", expected at least " +
                           std::to_string(needed) + " for connections=" + std::to_string(connections.size()) +
                           ", and once");
  }
  slots_ = slots;
  return Forwarder::create(shape, ranks, std::move(connections), &forwarder_);
}

void ForwardingOffer::offer(const Networks& networks) {
  NetTransport* network = nullptr;
  for (const TransportKind kind : {TransportKind::Plugin, TransportKind::Ib, TransportKind::Socket}) {
    if (network == nullptr) network = networks.find(kind);
  }
  if (forwarder_ == nullptr || id_ != 0 || network == nullptr) return;
  std::set<int> adapters;
  for (const ForwardedConnection& one : forwarder_->connections()) adapters.insert(one.adapter);
  const Status reached = network->reachDeviceMemory(slots_, adapters, &registered_);
  const std::string what = "PXN: forwarding connections=" + std::to_string(forwarder_->connections().size());
  if (!reached) {
    logMessage(LogLevel::Warn, "net",
               what + " is not possible, other ranks send them through memory of the host: " + reached.message());
    return;
  }
  network_ = network;
  id_ = memory_.registry().add(forwarder_->segment());
}

Status ForwardingOffer::start(NetTransport* network) {
  if (network_ == nullptr) return Status::ok();
  if (network != network_) {
    registered_.reset();
    forwarder_->end("uses another network than the one by which it offered to forward");
    return Status::ok();
  }
  started_ = true;
  for (size_t i = 0; i < forwarder_->connections().size(); ++i) {
    const ForwardedConnection& one = forwarder_->connections()[i];
    if (!forwarder_->isTaken(i)) continue;
    const ConnectionMemory memory = forwarder_->memory(i, static_cast<uint8_t*>(slots_.address));
    Status status = network_->forward(one.from, one.to, one.channel, one.adapter, memory, registered_.get(), one.ahead);
    if (!status) return status;
  }
  return Status::ok();
}

void ForwardingOffer::end(const std::string& why) {
  if (forwarder_ != nullptr) forwarder_->end(why);
}

Attachment::Users ForwardingOffer::users() const {
  using Users = Attachment::Users;
  Users users = Users::None;
  if (id_ == 0) return users;
  for (size_t i = 0; i < forwarder_->connections().size(); ++i) {
    const ShmProcess& process = memory_.processOf(forwarder_->connections()[i].from);
    if (!forwarder_->isTaken(i)) continue;
    if (memory_.registry().isThisProcess(process)) {
      users = std::max(users, Users::Here);
    } else if (jccl::isRunning(process)) {
      return Users::Elsewhere;
    }
  }
  return users;
}

uint64_t ForwardingOffer::forwardedBytes() const { return started_ ? network_->forwardedBytes() : 0; }

}  // namespace jccl
