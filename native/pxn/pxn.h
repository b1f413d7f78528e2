// A rank's part in PXN, in which ranks send through GPUs of other ranks of their host (pxn/forwarding.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/attachment.h"
#include "engine/communicator.h"
#include "pxn/forwarding.h"
#include "pxn/forwarding_offer.h"

namespace jccl {

class Pxn final : public Attachment {
 public:
  explicit Pxn(Communicator& host) : host_(host), offer_(host.sharedMemory()) {}

  // Makes this rank a forwarder of other ranks of this host; see ForwardingOffer. Must precede connectInfo.
  Status forwardFor(const NetDeviceMemory& slots, std::vector<ForwardedConnection> connections);
  // Takes connections through a forwarder, whose connect information is `info`. Must precede connect. `connections`:
  // number of connections that all ranks together have requested from the forwarder. `slots`: the address at which this
  // rank's GPU accesses the forwarder's slots. If the connections cannot be taken, a warning says why. The channels of all
  // peers are set (setStagedChannels).
  void sendThrough(int forwarder, std::span<const uint8_t> info, size_t connections, uint8_t* slots,
                   std::vector<ForwardedSends::Request> requests);
  uint64_t forwardedBytes() const { return offer_.forwardedBytes(); }

  uint64_t announce(const Networks& networks) override;
  const ConnectionMemory* sendMemory(int peer, int channel) const override { return sends_.find(peer, channel); }
  Status prepare(NetTransport* network) override { return offer_.start(network); }
  void addMemory(std::vector<std::shared_ptr<const void>>* all) const override;
  void addCounts(StagingProxy::Sharing* sharing) override;
  void release() override { sends_.release(); }
  void end(const std::string& why) override { offer_.end(why); }
  bool failed() override { return sends_.broken(); }
  std::string error() const override { return sends_.error(); }
  Users users() const override { return offer_.users(); }

 private:
  Communicator& host_;
  ForwardingOffer offer_;
  ForwardedSends sends_;
};

}  // namespace jccl
