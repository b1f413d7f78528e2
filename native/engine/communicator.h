// A rank's communicator on the host: the engine (Engine) with everything that the engine needs in this process, each
// owned by a class of its own: shared memory, networks and their slots, staging, and what parts of JCCL add.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "engine/attachment.h"
#include "engine/connect_info.h"
#include "engine/engine.h"
#include "engine/last_error.h"
#include "engine/network_in_use.h"
#include "engine/network_slots.h"
#include "engine/networks.h"
#include "engine/shared_memory.h"
#include "engine/staging.h"
#include "primitives/control_words.h"

namespace jccl {

struct CommunicatorConfig {
  EngineConfig engine;
  int streamsPerConnection = 1;
  int socketThreads = 1;            // threads that move data of TCP connections, including the thread that waits
  int64_t connectTimeoutNanos = 0;  // 0: the network's default
  int64_t peerTimeoutNanos = 0;     // 0: the network's default
  bool encrypts = false;            // true: all TCP connections are encrypted, or open() fails
  std::vector<uint8_t> secret;      // proves on data sockets that this process belongs to the job
  bool usesIb = false;              // offers InfiniBand verbs in addition if there are adapters
  IbConfig ib;
  NetDeviceNumbers netDevices;
  NetMaker makeNet;    // makes a network that is used instead of sockets; empty: sockets are used
  std::string plugin;  // the network plug-in to offer in addition; empty: none
  std::shared_ptr<const LogSubject> logSubject;  // names the communicator in log lines of its threads
};

// Threads: as for Engine. One thread at a time may call connectInfo, connect and probe.
class Communicator final {
 public:
  static Status create(const CommunicatorConfig& config, std::unique_ptr<Communicator>& communicator);

  // Returns the information that peers need to connect (ConnectInfo). Listens on the addresses, if any are given.
  Status connectInfo(const std::vector<std::string>& addresses, std::vector<uint8_t>& info);
  // Connects to a peer. A communicator uses the same network for all peers that it reaches over a network.
  Status connect(int peer, TransportKind transport, std::span<const uint8_t> info);
  // Returns Ok if the transport can reach the peer, otherwise the reason.
  Status probe(TransportKind transport, std::span<const uint8_t> info) const;
  // Sets the network devices that connections use. Must follow connect.
  Status setPaths(const std::vector<NetPath>& paths);

  // Returns the attachment of this type. The first call makes it from this communicator; it is destroyed after the
  // engine.
  template <typename Attached>
  Attached& attachment() {
    for (const auto& one : attachments_) {
      if (auto* found = dynamic_cast<Attached*>(one.get()); found != nullptr) return *found;
    }
    auto made = std::make_unique<Attached>(*this);
    Attached& attached = *made;
    attachments_.push_back(std::move(made));
    return attached;
  }
  // For attachments.
  int rank() const { return config_.engine.rank; }
  int size() const { return config_.engine.size; }
  uint64_t token() const { return config_.engine.token[0]; }  // the same on all ranks
  NetConfig netConfig() const;
  SharedMemory& sharedMemory() { return *shared_; }
  NetworkSlots& slots() { return slots_; }
  // Returns the network in use; null if no peer is reached over a network.
  NetTransport* networkInUse() const { return net_.get(); }
  bool offersNetworks() const { return networks_.isOpen(); }
  // Tells on which channels kernels use connections with a peer over a network, and which of them carry only exchanges:
  // these have the shape of exchangeShape(). Other channels get no connection with the peer. Must precede connect.
  void setStagedChannels(int peer, const std::vector<int>& channels, const std::vector<int>& exchangeOnly);
  // Returns true if setStagedChannels said that the connection carries only exchanges.
  bool isExchangeOnly(int peer, int channel) const;
  bool isStaging() const { return staging_ != nullptr; }

  // Checks that all connections of rings and trees exist, and makes those over InfiniBand or a plug-in now, so that a
  // failure shows during initialisation. Closes the networks that are not used.
  Status prepare();

  // Puts SIMPLE slots of network connections into memory of a GPU, which must outlive this object. Must precede
  // connect. If the network cannot reach that memory, the slots stay in memory of the host, and a warning is logged.
  Status useDeviceSlots(DeviceSlots slots);
  // Returns which ranks still use memory of attachments of this rank; none after a failure.
  Attachment::Users users() const;
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

  // Returns the network in use: Socket, Ib, Plugin, or None.
  TransportKind network() const { return networks_.kindOf(net_.get()); }

  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }

  // Returns the text of the last failure of one of these methods or of an operation.
  std::string lastError() const;
  const std::shared_ptr<const LogSubject>& logSubject() const { return config_.logSubject; }
  void noteError(const Status& status) { error_->set(status); }
  // Saves the descriptor of the shared memory. Must follow the connection of all ranks to each other.
  void withdrawMemory() { shared_->withdraw(); }
  MemoryUsage memoryUsage() const;

 private:
  // The threads that move data for kernels. Those of attachments end first, because they use the proxy's activity.
  struct Staging {
    const std::vector<std::unique_ptr<Attachment>>& attachments;
    StagingProxy proxy;

    ~Staging() {
      for (const auto& one : attachments) one->stopStaging();
    }
  };
  // Tells the attachments that no kernel runs any more.
  struct Released {
    const std::vector<std::unique_ptr<Attachment>>& attachments;

    ~Released() {
      for (const auto& one : attachments) one->release();
    }
  };

  Communicator(const CommunicatorConfig& config, std::unique_ptr<LastError> error,
               std::unique_ptr<SharedMemory> memory);
  const ConnectionMemory* sendMemory(int peer, int channel) const;
  Status connectShared(int peer, TransportKind transport, const ConnectInfo& info);
  Status connectNet(int peer, TransportKind kind, const ConnectInfo& info);

  // A member uses those before it only, and is destroyed before them.
  const CommunicatorConfig config_;
  const std::shared_ptr<std::atomic<bool>> looksAtMemory_ = std::make_shared<std::atomic<bool>>(false);  // NetConfig
  const std::unique_ptr<LastError> error_;
  const std::unique_ptr<SharedMemory> shared_;
  NetworkSlots slots_;
  Networks networks_;
  std::vector<std::unique_ptr<Attachment>> attachments_;
  Engine engine_;
  NetworkInUse net_;
  const Released released_;
  // The channels of setStagedChannels(), by peer; true for those that carry only exchanges.
  std::map<int, std::map<int, bool>> stagedChannels_;
  std::unique_ptr<Staging> staging_;
};

}  // namespace jccl
