// PXN: a rank sends to other hosts through the GPU of another rank of its host, the forwarder, which is near the
// network adapter.
//
//     kernel of the sender ══ NVLink ══> SIMPLE slots in memory of the forwarder's GPU ══ its adapter ══> receiver
//                          ── slot headers, LL and LL128 slots: memory that both map ── its send proxy ──> receiver
//
// The forwarder offers memory for the connections that other ranks have asked for. Before prepare(), a sender takes the
// connections that it can use. The forwarder then makes these connections in the sender's name, and moves their data in
// the same way as the data of its own connections. The receiver sees no difference. Data from the receiver goes
// directly to the sender.
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

// A connection for which another rank has asked this rank, the forwarder.
struct ForwardedConnection {
  int from = -1;
  int to = -1;
  int channel = 0;
  int adapter = NetDeviceNumbers::kUnknown;  // the plan's number of the network device that sends its data
  bool ahead = false;  // true: made during initialisation, because a ring or a tree needs it; false: at its first use
};

// A view of the memory that a forwarder and its senders share: a header, an entry for each connection, then the slots.
class ForwardingSegment {
 public:
  // `shape`: the largest shape of a connection; `ranks`: number of ranks of the communicator.
  ForwardingSegment(uint8_t* base, const ConnectionShape& shape, int ranks, size_t connections)
      : base_(base), shape_(shape), ranks_(ranks), connections_(connections) {}
  static size_t bytes(const ConnectionShape& shape, size_t connections);

  // Writes the header and the entries. Only the forwarder calls this.
  void begin(const std::vector<ForwardedConnection>& connections);
  // Returns true if the memory has the header of a forwarder with this number of connections.
  bool isValid(size_t connections) const;

  enum class Use : uint32_t { Offered, Taken, Released };
  struct alignas(64) Entry {
    int32_t from, to, channel;
    std::atomic<Use> use;
    bool exchangeOnly;  // the connection has the shape of exchangeShape(); the sender sets this before it takes it
  };
  Entry& entry(size_t i) const;
  // Returns the memory that the sender's kernels and the forwarder share for a connection. Its deviceSlots are not set.
  ConnectionMemory memory(size_t i) const;
  StagingCounts& counts() const;

  // Records that the forwarder no longer moves data, and why. Later calls have no effect.
  void end(const std::string& why) const;
  bool ended() const;
  std::string why() const;

 private:
  struct Header;
  Header& header() const;

  uint8_t* base_;
  ConnectionShape shape_;
  int ranks_;
  size_t connections_;
};

// The forwarder's side of PXN.
class Forwarder {
 public:
  static Status create(const ConnectionShape& shape, int ranks, std::vector<ForwardedConnection> connections,
                       std::unique_ptr<Forwarder>* forwarder);

  const std::shared_ptr<ShmSegment>& segment() const { return segment_; }
  const std::vector<ForwardedConnection>& connections() const { return connections_; }
  // Returns true if the sender has taken the connection.
  bool isTaken(size_t i) const { return view().entry(i).use.load() == ForwardingSegment::Use::Taken; }
  // Returns the memory of a connection that was taken. `slots`: the SIMPLE slots of connection 0.
  ConnectionMemory memory(size_t i, uint8_t* slots) const;
  StagingCounts& counts() const { return view().counts(); }
  // Makes all sends through this rank fail from now on; the senders' error contains `why`.
  void end(const std::string& why) const { view().end(why); }

 private:
  Forwarder(const ConnectionShape& shape, int ranks, std::vector<ForwardedConnection> connections);
  ForwardingSegment view() const { return {segment_->address(), shape_, ranks_, connections_.size()}; }

  const ConnectionShape shape_;
  const int ranks_;
  const std::vector<ForwardedConnection> connections_;
  std::shared_ptr<ShmSegment> segment_;
  std::vector<std::unique_ptr<ZeroCopySlot[]>> zeroCopySlots_;  // connections need them, but kernels never use them
};

// The sender's side of PXN: the connections of this rank through all its forwarders.
class ForwardedSends {
 public:
  // A connection for which this rank has asked a forwarder; `index` is its number at the forwarder. `exchangeOnly` is
  // that of Communicator::isExchangeOnly.
  struct Request {
    int peer = -1;
    int channel = 0;
    size_t index = 0;
    bool exchangeOnly = false;
  };
  // Takes the requested connections from one forwarder, which offers `connections` in total. `slots`: the SIMPLE slots
  // of the forwarder's connection 0, at the address at which this rank's GPU accesses them.
  Status take(int self, int forwarder, const ShmProcess& process, std::shared_ptr<ShmSegment> segment,
              const ConnectionShape& shape, int ranks, size_t connections, uint8_t* slots,
              const std::vector<Request>& requests);
  // Returns null if this rank sends to the peer without a forwarder.
  const ConnectionMemory* find(int peer, int channel) const;
  bool empty() const { return memory_.empty(); }

  std::vector<StagingCounts*> counts() const;
  std::vector<std::shared_ptr<ShmSegment>> segments() const;
  // Returns true if a forwarder has stopped moving data or its process has ended.
  bool broken();
  // Returns why a forwarder is broken, or an empty string if none is.
  std::string error() const;
  // Tells the forwarders that this rank no longer uses their memory. Call it after the last kernel.
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
  std::map<std::pair<int, int>, ConnectionMemory> memory_;  // memory of each connection; key: peer and channel
  int64_t checkedNanos_ = 0;
  std::atomic<bool> processEnded_{false};
};

}  // namespace jccl
