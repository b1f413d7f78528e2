// A rank's offer to forward for other ranks of its host (PXN).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/attachment.h"
#include "engine/networks.h"
#include "engine/shared_memory.h"
#include "pxn/forwarding.h"
#include "transport/net_transport.h"

namespace jccl {

class ForwardingOffer {
 public:
  explicit ForwardingOffer(SharedMemory& memory) : memory_(memory) {}
  // Senders learn that this rank has closed its communicator.
  ~ForwardingOffer();

  // Makes this rank a forwarder. The order of `connections` numbers them; `slots` contains their SIMPLE slots in this
  // order, in memory of this rank's GPU, and must outlive this object. Call it once, before offer().
  Status forward(const ConnectionShape& shape, int ranks, const NetDeviceMemory& slots,
                 std::vector<ForwardedConnection> connections);
  // Offers the connections if a network can reach `slots`. Otherwise the senders use memory of the host, and a warning
  // is logged. Further calls do nothing.
  void offer(const Networks& networks);
  uint64_t id() const { return id_; }  // of the offered segment; 0: nothing is offered

  // Makes the connections that senders have taken, if `network` is the one that reaches `slots`. Call it after all
  // senders have taken theirs.
  Status start(NetTransport* network);
  // Makes all sends through this rank fail from now on; the senders' error contains `why`.
  void end(const std::string& why);

  // Returns which ranks still send through this rank's GPU.
  Attachment::Users users() const;
  uint64_t forwardedBytes() const;
  // Returns the counts that this rank shares with its senders; null if it does not forward.
  StagingCounts* counts() const { return forwarder_ == nullptr ? nullptr : &forwarder_->counts(); }

 private:
  SharedMemory& memory_;
  NetDeviceMemory slots_;
  std::unique_ptr<Forwarder> forwarder_;
  uint64_t id_ = 0;
  NetTransport* network_ = nullptr;        // the network that can access slots_; null: nothing is offered
  bool started_ = false;                   // true: network_ is the network in use
  std::unique_ptr<NetMemory> registered_;  // slots_ as registered with network_
};

}  // namespace jccl
