// PXN: a rank on a GPU sends to other hosts through the GPU of another rank of its host, which is beside the network adapter.
//
//     kernel of the sender ══ NVLink ══> SIMPLE slots in memory of the forwarder's GPU ══ its adapter ══> receiver
//                          ── slot headers, LL and LL128 slots: memory that both ranks map ── its send proxy ──> receiver
//
// The forwarder offers memory for the connections that others have asked for. A sender takes what it can use, before both
// prepare; the forwarder then makes these connections in the sender's name, and moves them as its own. To the receiver nothing
// differs. Data that comes back goes straight to the sender.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/staging_activity.h"
#include "primitives/connection.h"
#include "transport/net_paths.h"
#include "transport/shm_process.h"
#include "transport/shm_segment.h"

namespace jccl {

// A connection that another rank shall have through this one.
struct ForwardedConnection {
  int from = -1;
  int to = -1;
  int channel = 0;
  int adapter = NetDeviceNumbers::kUnknown;  // by which it leaves this host, as the plan numbers them
  bool ahead = false;                        // a ring or a tree needs it: it is made during initialisation
};

// What the memory that they share begins with.
class ForwardingSegment {
 public:
  ForwardingSegment(uint8_t* base, const ConnectionShape& shape, size_t connections)
      : base_(base), shape_(shape), connections_(connections) {}
  static size_t bytes(const ConnectionShape& shape, size_t connections);

  void begin(const std::vector<ForwardedConnection>& connections);
  // Whether it is the memory of these.
  bool isValid(size_t connections) const;

  enum class Use : uint32_t { Offered, Taken, Released };
  struct alignas(64) Entry {
    int32_t from, to, channel;
    std::atomic<Use> use;
  };
  Entry& entry(size_t i) const;
  // Of the connection's first slots, without those in memory of a GPU.
  ConnectionMemory memory(size_t i) const;
  StagingCounts& counts() const;

  // The forwarder moves nothing any more, and why.
  void end(const std::string& why) const;
  bool ended() const;
  std::string why() const;

 private:
  struct Header;
  Header& header() const;

  uint8_t* base_;
  ConnectionShape shape_;
  size_t connections_;
};

// The forwarder's side.
class Forwarder {
 public:
  static Status create(const ConnectionShape& shape, std::vector<ForwardedConnection> connections,
                       std::unique_ptr<Forwarder>* forwarder);

  const std::shared_ptr<ShmSegment>& segment() const { return segment_; }
  const std::vector<ForwardedConnection>& connections() const { return connections_; }
  // Of connections that their senders have taken.
  bool isTaken(size_t i) const { return view().entry(i).use.load() == ForwardingSegment::Use::Taken; }
  ConnectionMemory memory(size_t i) const;
  StagingCounts& counts() const { return view().counts(); }
  // Sends of the others fail from now on.
  void end(const std::string& why) const { view().end(why); }

 private:
  Forwarder(const ConnectionShape& shape, std::vector<ForwardedConnection> connections);
  ForwardingSegment view() const { return {segment_->address(), shape_, connections_.size()}; }

  const ConnectionShape shape_;
  const std::vector<ForwardedConnection> connections_;
  std::shared_ptr<ShmSegment> segment_;
  std::vector<std::unique_ptr<ZeroCopySlot[]>> zeroCopySlots_;  // none is ever used
};

// The sender's side: its connections through all its forwarders.
class ForwardedSends {
 public:
  // What it asked one forwarder for: the connection that is number `index` there.
  struct Request {
    int peer = -1;
    int channel = 0;
    size_t index = 0;
  };
  // Takes connections through the GPU of a rank: `slots` are those of its connection 0, as this rank's GPU reaches them.
  Status take(int self, int forwarder, const ShmProcess& process, std::shared_ptr<ShmSegment> segment,
              const ConnectionShape& shape, size_t connections, uint8_t* slots, const std::vector<Request>& requests);
  // Null where this rank sends by itself.
  const ConnectionMemory* find(int peer, int channel) const;
  bool empty() const { return memory_.empty(); }

  std::vector<StagingCounts*> counts() const;
  std::vector<std::shared_ptr<ShmSegment>> segments() const;
  // Whether a forwarder has ended; and why, or empty.
  bool broken();
  std::string error() const;
  // After the last kernel.
  void release();

 private:
  struct Through {
    int rank;
    ShmProcess process;
    std::shared_ptr<ShmSegment> segment;
    ForwardingSegment view;
    std::vector<size_t> taken;
  };

  std::vector<Through> through_;
  std::map<std::pair<int, int>, ConnectionMemory> memory_;  // by peer and channel
  int64_t checkedNanos_ = 0;
  std::atomic<bool> processEnded_{false};
};

}  // namespace jccl
