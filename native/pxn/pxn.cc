#include "pxn/pxn.h"

#include <utility>

#include "base/log.h"
#include "engine/connect_info.h"

namespace jccl {

Status Pxn::forwardFor(const NetDeviceMemory& slots, std::vector<ForwardedConnection> connections) {
  if (host_.offersNetworks()) return Status::invalid("forwarded slots: expected before connectInfo");
  const Engine& engine = host_.engine();
  return offer_.forward(engine.segmentShape().connection, engine.size(), slots, std::move(connections));
}

void Pxn::sendThrough(int forwarder, std::span<const uint8_t> info, size_t connections, uint8_t* slots,
                      std::vector<ForwardedSends::Request> requests) {
  for (ForwardedSends::Request& one : requests) one.exchangeOnly = host_.isExchangeOnly(one.peer, one.channel);
  const Engine& engine = host_.engine();
  ConnectInfo peer;
  Status taken = ConnectInfo::decode(info, &peer);
  if (taken && peer.offered == 0) taken = Status::transport("that rank does not forward; its log says why");
  std::shared_ptr<ShmSegment> segment;
  if (taken) taken = host_.sharedMemory().registry().import(peer.process, peer.offered, 0, {}, &segment);
  if (taken) {
    taken = sends_.take(engine.rank(), forwarder, peer.process, std::move(segment), engine.segmentShape().connection,
                        engine.size(), connections, slots, requests);
  }
  const std::string what = "connections=" + std::to_string(requests.size());
  const std::string who = "the GPU of rank=" + std::to_string(forwarder);
  if (taken) {
    logMessage(LogLevel::Info, "net", "PXN: " + what + " lead through " + who);
  } else {
    logMessage(LogLevel::Warn, "net",
               "PXN: " + what + " go through memory of the host instead of " + who + ": " + taken.message());
  }
}

uint64_t Pxn::announce(const Networks& networks) {
  offer_.offer(networks);
  return offer_.id();
}

void Pxn::addMemory(std::vector<std::shared_ptr<const void>>* all) const {
  for (const auto& segment : sends_.segments()) all->push_back(segment);
}

void Pxn::addCounts(StagingProxy::Sharing* sharing) {
  sharing->counts = offer_.counts();
  for (StagingCounts* counts : sends_.counts()) sharing->others.push_back(counts);
}

}  // namespace jccl
