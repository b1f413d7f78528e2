// A rank's communicator on the host: the engine (Engine) with everything that the engine needs in this process: the
// segment, views of peers' memory, and the network.
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
#include "engine/engine.h"
#include "engine/forwarding.h"
#include "engine/networks.h"
#include "engine/zero_copy.h"
#include "primitives/control_words.h"
#include "transport/coll_net.h"
#include "transport/net_transport.h"
#include "transport/shm_registry.h"
#include "transport/shm_views.h"

namespace jccl {

struct CommunicatorConfig {
  EngineConfig engine;
  int streamsPerConnection = 1;
  int socketThreads = 1;            // threads that move data of TCP connections, including the thread that waits
  int64_t connectTimeoutNanos = 0;  // 0: the network's default
  int64_t peerTimeoutNanos = 0;     // 0: the network's default
  std::vector<uint8_t> secret;      // proves on data sockets that this process belongs to the job
  bool usesIb = false;              // offers InfiniBand verbs in addition if there are adapters
  IbConfig ib;
  NetDeviceNumbers netDevices;
  NetMaker makeNet;    // makes a network that is used instead of sockets; empty: sockets are used
  std::string plugin;  // the network plug-in to offer in addition; empty: none
  std::shared_ptr<const LogSubject> logSubject;  // names the communicator in log lines of its threads
};

// Threads: as for Engine. One thread at a time may call connectInfo, connect and probe.
class Communicator final : private BufferResolver {
 public:
  static Status create(const CommunicatorConfig& config, std::unique_ptr<Communicator>& communicator);
  ~Communicator() override;

  // Returns the information that peers need to connect. Listens on the addresses, if any are given.
  //
  //     0        4          8                   56           64             72            76       80           84
  //     +--------+----------+-------------------+------------+--------------+-------------+--------+------------+------
  //     | magic  | version  | shm process (48)  | segment id | forwarded id | sockets len | ib len | plugin len | infos
  //     |        |          |                   |            | 0: none      |             |        |            |
  //     +--------+----------+-------------------+------------+--------------+-------------+--------+------------+------
  Status connectInfo(const std::vector<std::string>& addresses, std::vector<uint8_t>& info);
  // Connects to a peer. A communicator uses the same network for all peers that it reaches over a network.
  Status connect(int peer, TransportKind transport, std::span<const uint8_t> info);
  // Returns Ok if the transport can reach the peer, otherwise the reason.
  Status probe(TransportKind transport, std::span<const uint8_t> info) const;
  // Sets the network devices that connections use. Must follow connect.
  Status setPaths(const std::vector<NetPath>& paths);
  // The following methods set up CollNet, a network that reduces, through a plug-in. First every rank calls
  // offerCollNet, whose error says why this rank cannot use CollNet. If all ranks offer it, the leaders of each group
  // call listenCollNet and connectCollNet. Then all ranks call useCollNet, after setHosts; or dropCollNet if any rank
  // failed. `plugin`: see openCollNetPlugin.
  Status offerCollNet(const std::string& plugin, std::vector<uint8_t>* offer);
  Status listenCollNet(int group, std::vector<uint8_t>* handle);
  Status connectCollNet(int group, const std::vector<std::vector<uint8_t>>& handles, int member, int64_t timeoutNanos);
  // `leaders`: the leading ranks, by group and host. `common`: the abilities that all offers contain.
  Status useCollNet(const std::vector<std::vector<int>>& leaders, const CollNetOffer& common);
  void dropCollNet();
  // Called instead of useCollNet if kernels of a GPU use CollNet. Must precede startStaging. Sets `ends` by group:
  // channel i uses ends[i]. The pointers in ends[i] are null if another rank leads this host in group i. `ranksOfHost`:
  // see CollNetLink.
  Status stageCollNet(int groups, const CollNetOffer& common, int ranksOfHost, std::vector<StagedEnds>& ends);
  // Returns the `common` of stageCollNet, which exists as long as this object.
  const CollNetOffer& stagedCollNet() const { return stagedOffer_; }

  // Checks that all connections of rings and trees exist, and makes those over InfiniBand or a plug-in now, so that a
  // failure shows during initialisation. Closes the networks that are not used.
  Status prepare();

  // Puts SIMPLE slots of network connections into memory of a GPU, which must outlive this object. Must precede
  // connect. If the network cannot reach that memory, the slots stay in memory of the host, and a warning is logged.
  Status useDeviceSlots(DeviceSlots slots);
  // Makes this rank a forwarder (PXN) of other ranks of this host. Must precede connectInfo. The order of `connections`
  // numbers them; `slots` contains their SIMPLE slots in this order, in memory of this rank's GPU, and must outlive
  // this object. If the network cannot reach `slots`, nothing is offered, and a warning is logged.
  Status forwardFor(const NetDeviceMemory& slots, std::vector<ForwardedConnection> connections);
  // Takes connections through a forwarder, whose connect information is `info`. Must precede connect. `connections`:
  // number of connections that all ranks together have requested from the forwarder. `slots`: the address at which this
  // rank's GPU accesses the forwarder's slots. If the connections cannot be taken, a warning says why.
  void sendThrough(int forwarder, std::span<const uint8_t> info, size_t connections, uint8_t* slots,
                   const std::vector<ForwardedSends::Request>& requests);
  // Which ranks still send through this rank's GPU: none (None), only threads of this process (Here), or also other
  // processes (Elsewhere).
  enum class Senders : uint8_t { None, Here, Elsewhere };
  Senders senders() const;
  uint64_t forwardedBytes() const;
  // Returns the connections with a peer, by channel, for kernels of a GPU (engine/staging.h). Must follow prepare.
  Status stage(int peer, const std::vector<int>& channels, std::vector<StagedEnds>& ends);
  // Returns an object that keeps the memory of all connections mapped while it exists. Must follow connect.
  std::shared_ptr<const void> memory() const;
  // Starts a thread that moves the data of staged network connections. The GPU's runtime reports its operations to
  // `activity`, which is null if there are no network connections. The words of `controls` must exist until the
  // activity is closed.
  Status startStaging(const ChannelControls& controls, StagingActivity** activity);

  // Keeps memory of SharedHeap registered with the network's adapters between operations. Returns its number for
  // dropMemory, or 0 if nothing is kept, for instance because the network needs no registered memory.
  uint64_t keepMemory(void* address, size_t bytes);
  void dropMemory(uint64_t number);

  // Returns the network in use: Net (sockets), Ib, Plugin, or None.
  TransportKind network() const { return networks_.kindOf(net_); }

  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }

  // Returns the text of the last failure of one of these methods or of an operation.
  std::string lastError() const;
  const std::shared_ptr<const LogSubject>& logSubject() const { return config_.logSubject; }
  void noteError(const Status& status);
  MemoryUsage memoryUsage() const;

 private:
  struct PeerInfo {
    ShmProcess shm;
    uint64_t segment = 0;
    uint64_t forwarding = 0;  // id of the peer's forwarding segment; 0: the peer does not forward
    Networks::Infos networks;
  };
  explicit Communicator(const CommunicatorConfig& config) : config_(config) {}
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

  CommunicatorConfig config_;
  std::shared_ptr<ShmRegistry> registry_;
  std::shared_ptr<ShmSegment> segment_;
  uint64_t segmentId_ = 0;
  std::vector<ShmProcess> peerProcesses_;
  std::vector<std::shared_ptr<ShmSegment>> peerSegments_;
  std::unique_ptr<ShmViews> views_;
  std::vector<std::shared_ptr<MappedMemory>> netMemory_;
  std::vector<std::unique_ptr<ZeroCopySlot[]>> zeroCopySlots_;  // zero-copy slots of network connections
  DeviceSlots deviceSlots_;
  std::unique_ptr<Engine> engine_;
  Networks networks_;
  std::unique_ptr<CollNet> collNet_;
  NetTransport* net_ = nullptr;  // the network in use; null: none
  NetDeviceMemory forwardedSlots_;
  std::unique_ptr<Forwarder> forwarder_;
  uint64_t forwardingId_ = 0;
  // the network that can access forwardedSlots_; null: this rank does not offer to forward
  NetTransport* forwardingNet_ = nullptr;
  std::unique_ptr<NetMemory> forwardedMemory_;  // forwardedSlots_ as registered with forwardingNet_
  ForwardedSends forwardedSends_;
  std::unique_ptr<StagingProxy> stagingProxy_;
  std::unique_ptr<CollNetStaging> collNetStaging_;
  CollNetOffer stagedOffer_;

  mutable std::mutex errorMutex_;  // guards error_, and changes of net_ and netMemory_, which other threads read
  std::string error_;
};

}  // namespace jccl
