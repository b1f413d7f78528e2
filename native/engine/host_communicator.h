// A rank's communicator on the host: the engine together with what it owns in this process, its segment, its views of peers'
// memory, its network.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mapped_memory.h"
#include "base/status.h"
#include "engine/coll_net_staging.h"
#include "engine/communicator.h"
#include "engine/forwarding.h"
#include "engine/networks.h"
#include "engine/zero_copy.h"
#include "primitives/control_words.h"
#include "transport/coll_net.h"
#include "transport/net_transport.h"
#include "transport/shm_registry.h"
#include "transport/shm_views.h"

namespace jccl {

struct HostCommunicatorConfig {
  CommunicatorConfig communicator;
  int streamsPerConnection = 1;
  int socketThreads = 1;            // that move the data of TCP connections, a waiting thread among them
  int64_t connectTimeoutNanos = 0;  // 0: the network's default
  int64_t peerTimeoutNanos = 0;     // likewise
  std::vector<uint8_t> secret;      // proves membership of the job to data sockets
  bool usesIb = false;              // offer InfiniBand verbs beside sockets, where there are adapters
  IbConfig ib;
  NetDeviceNumbers netDevices;
  NetMaker makeNet;                              // of what stands for sockets; empty: sockets
  std::string plugin;                            // the network plug-in to offer beside them; empty: none
  std::shared_ptr<const LogSubject> logSubject;  // of what its threads log
};

// Threads: as Communicator; connectInfo, connect and probe belong to its "one thread at a time".
class HostCommunicator final : private BufferResolver {
 public:
  static Status create(const HostCommunicatorConfig& config, std::unique_ptr<HostCommunicator>& communicator);
  ~HostCommunicator() override;

  // What peers need to connect; listens on the addresses, if there are any.
  //
  //     0         4          8                   56           64             72            76       80           84
  //     +---------+----------+-------------------+------------+--------------+-------------+--------+------------+-------
  //     | magic   | version  | shm process (48)  | segment id | forwarded id | sockets len | ib len | plugin len | what
  //     |         |          |                   |            | 0: none      |             |        |            | they say
  //     +---------+----------+-------------------+------------+--------------+-------------+--------+------------+-------
  Status connectInfo(const std::vector<std::string>& addresses, std::vector<uint8_t>& info);
  // All peers behind a network are reached by the same one.
  Status connect(int peer, TransportKind transport, std::span<const uint8_t> info);
  Status probe(TransportKind transport, std::span<const uint8_t> info) const;
  // The network devices by which connections go; after connect.
  Status setPaths(const std::vector<NetPath>& paths);
  // A network that reduces, by a plug-in: what this rank offers, for which an error says why it cannot; then, when all offer it,
  // listenCollNet and connectCollNet on the leaders of each group, and useCollNet on all ranks, after setHosts. Or dropCollNet,
  // where any rank failed. `plugin` as in openCollNetPlugin.
  Status offerCollNet(const std::string& plugin, std::vector<uint8_t>* offer);
  Status listenCollNet(int group, std::vector<uint8_t>* handle);
  Status connectCollNet(int group, const std::vector<std::vector<uint8_t>>& handles, int member, int64_t timeoutNanos);
  // `leaders` by group and host; `common` is what all offers have in common.
  Status useCollNet(const std::vector<std::vector<int>>& leaders, const CollNetOffer& common);
  void dropCollNet();
  // Instead of useCollNet, for kernels of a GPU: the ends by group, of which each is on the channel with its number. Those that
  // others lead are null. Before startStaging. `ranksOfHost` as in CollNetLink. `common` stays as long as this object.
  Status stageCollNet(int groups, const CollNetOffer& common, int ranksOfHost, std::vector<StagedEnds>& ends);
  const CollNetOffer& stagedCollNet() const { return stagedOffer_; }

  // Checks that all connections that rings and trees need exist; those over InfiniBand or a plug-in are made and tried now. Closes the
  // network that is not used.
  Status prepare();

  // Where connections over a network shall have SIMPLE slots in memory of a GPU, before connect; they outlive this object.
  // What the network does not reach stays in memory of the host, with a warning.
  Status useDeviceSlots(DeviceSlots slots);
  // Sends for other ranks of this host through memory of this rank's GPU, before connectInfo: the connections are numbered as
  // here, and `slots` has their SIMPLE slots one after the other; it outlives this object. What the network does not reach is
  // not offered, with a warning.
  Status forwardFor(const NetDeviceMemory& slots, std::vector<ForwardedConnection> connections);
  // Sends through the GPU of a rank with this connect information, before connect: `connections` is what it was asked for by
  // all ranks, `slots` where this rank's GPU reaches its slots. The connections are taken, or a warning says why not.
  void sendThrough(int forwarder, std::span<const uint8_t> info, size_t connections, uint8_t* slots,
                   const std::vector<ForwardedSends::Request>& requests);
  // Who still sends through this rank's GPU: nobody, threads of this process only, other processes as well.
  enum class Senders : uint8_t { None, Here, Elsewhere };
  Senders senders() const;
  uint64_t forwardedBytes() const;
  // Connections with a peer for kernels of a GPU, by channel; see engine/staging.h. After prepare.
  Status stage(int peer, const std::vector<int>& channels, std::vector<StagedEnds>& ends);
  // Their memory, which is mapped for as long as anybody has this; after connect.
  std::shared_ptr<const void> memory() const;
  // Moves staged connections from now on, where any leads over a network. `activity` counts the operations of the GPU's
  // runtime; it is null if no connection leads over a network. What `controls` names stays until the activity is closed.
  Status startStaging(const ChannelControls& controls, StagingActivity** activity);

  // Keeps memory of a HostBuffer, or what SharedHeap has adopted, registered with the adapters that operations use it with.
  // Returns its number for dropMemory, or 0: the network in use needs no registered memory.
  uint64_t keepMemory(void* address, size_t bytes);
  void dropMemory(uint64_t number);

  // The network in use: Net (sockets), Ib, Plugin, or None.
  TransportKind network() const { return networks_.kindOf(net_); }

  Communicator& communicator() { return *communicator_; }
  const Communicator& communicator() const { return *communicator_; }

  // The text for the last failure of any of these methods or of an operation.
  std::string lastError() const;
  const std::shared_ptr<const LogSubject>& logSubject() const { return config_.logSubject; }
  void noteError(const Status& status);
  MemoryUsage memoryUsage() const;

 private:
  struct PeerInfo {
    ShmProcess shm;
    uint64_t segment = 0;
    uint64_t forwarding = 0;  // the segment of what it forwards; 0: nothing
    Networks::Infos networks;
  };
  explicit HostCommunicator(const HostCommunicatorConfig& config) : config_(config) {}
  static Status decode(std::span<const uint8_t> info, PeerInfo& peer);
  Status connectShared(int peer, TransportKind transport, const PeerInfo& info);
  Status connectNet(int peer, TransportKind kind, const PeerInfo& info);
  void offerForwarding();
  Status startForwarding();
  void registerDeviceSlots();
  uint8_t* deviceSlots(int peer, int channel, bool sends) const;
  Status makeSlots(ConnectionMemory& end);
  NetConfig netConfig() const;

  bool locate(const void* address, size_t bytes, uint64_t& segment, uint64_t& offset) override;
  uint8_t* resolve(int peer, uint64_t segment, uint64_t offset, size_t bytes) override;
  bool isRunning(int peer) override;
  void isolate(int peer, void* address, size_t bytes, int64_t waitedNanos) override;

  HostCommunicatorConfig config_;
  std::shared_ptr<ShmRegistry> registry_;
  std::shared_ptr<ShmSegment> segment_;
  uint64_t segmentId_ = 0;
  std::vector<ShmProcess> peerProcesses_;
  std::vector<std::shared_ptr<ShmSegment>> peerSegments_;
  std::unique_ptr<ShmViews> views_;
  std::vector<std::shared_ptr<MappedMemory>> netMemory_;
  std::vector<std::unique_ptr<ZeroCopySlot[]>> zeroCopySlots_;  // of network connections
  DeviceSlots deviceSlots_;
  std::unique_ptr<Communicator> communicator_;
  Networks networks_;
  std::unique_ptr<CollNet> collNet_;
  NetTransport* net_ = nullptr;  // the one in use, if any
  NetDeviceMemory forwardedSlots_;
  std::unique_ptr<Forwarder> forwarder_;
  uint64_t forwardingId_ = 0;
  NetTransport* forwardingNet_ = nullptr;       // which reaches the slots,
  std::unique_ptr<NetMemory> forwardedMemory_;  // as it knows them
  ForwardedSends forwardedSends_;
  std::unique_ptr<StagingProxy> stagingProxy_;
  std::unique_ptr<CollNetStaging> collNetStaging_;
  CollNetOffer stagedOffer_;

  mutable std::mutex errorMutex_;  // of error_, and where net_ and netMemory_ change: other threads query them
  std::string error_;
};

}  // namespace jccl
