// The native communicator: owns the connections to peers and the channels, and runs operations one after the other.
//
// Threads: one thread at a time may call run*(), connect*(), set*(), addSchedules(), dropSchedules() and check*(). Any
// thread may call abort(), history(), transfers(), counters(), waiting() and lastError() at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "base/mapped_memory.h"
#include "base/status.h"
#include "engine/channel.h"
#include "engine/core_sharing.h"
#include "engine/counters.h"
#include "engine/diagnostics.h"
#include "engine/history.h"
#include "engine/operation.h"
#include "engine/point_to_point.h"
#include "engine/segment.h"
#include "engine/staging.h"
#include "engine/store_policy.h"
#include "engine/transfer_history.h"
#include "engine/worker.h"
#include "engine/workers.h"
#include "engine/zero_copy.h"
#include "primitives/wait.h"
#include "transport/shm_segment.h"

namespace jccl {

struct EngineConfig {
  int rank = 0;
  int size = 1;
  int channels = 1;
  uint32_t simpleSlotBytes = 256 * 1024;
  uint32_t llSlotBytes = 16 * 1024;
  uint32_t ll128SlotBytes = 32 * 1024;
  int localRanks = 1;  // number of ranks that share this host's cores
  int cores = 1;
  // Number of ranks of this host, including this one, that share cores with this rank directly or through other ranks.
  int sharingRanks = 0;     // 0: localRanks
  int sharedCores = 0;      // number of cores on which these ranks run; 0: cores
  int64_t spinNanos = -1;   // -1: chosen from sharingRanks and sharedCores
  bool placesRanks = true;  // see CoreSharing
  uint64_t token[2] = {0, 0};
  uint64_t recordedOperations = History::kDefaultRecords;  // see History

  int sharing() const { return sharingRanks > 0 ? sharingRanks : localRanks; }
  int shared() const { return sharedCores > 0 ? sharedCores : cores; }
};

class Engine {
 public:
  // `segment`: zeroed memory of segmentShape(config).bytes() bytes, shared with the peers on this host. The memory must
  // outlive the communicator.
  Engine(const EngineConfig& config, uint8_t* segment);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  static SegmentShape segmentShape(const EngineConfig& config);

  int rank() const { return config_.rank; }
  int size() const { return config_.size; }
  int channels() const { return config_.channels; }
  const SegmentShape& segmentShape() const { return shape_; }
  const Segment& segment() const { return segment_; }
  const CoreSharing& coreSharing() const { return coreSharing_; }
  WaitControl& control() { return control_; }
  EventCount* events() { return &segment_.events(); }
  // Returns the eventcount of a rank of this host, which must be connected.
  EventCount& eventsOf(int rank) const { return segmentOf(rank).events(); }
  // Returns the segment of a rank of this host, which must be connected.
  const Segment& segmentOf(int rank) const { return rank == config_.rank ? segment_ : peerSegments_[rank]; }

  // Connects a peer of this host: a thread of this process (P2p), or a rank whose segment is mapped (Shm). `base`:
  // address of the peer's segment in this process.
  Status connectLocal(int peer, TransportKind transport, uint8_t* base);
  // Connects a peer over a network on one channel. Proxies move the data in `send` and `recv`. `firstUse`, if not null,
  // is called when the first step is published; before that, proxies need not look at `send`.
  Status connectNet(int peer, TransportKind network, int channel, const ConnectionMemory& send,
                    const ConnectionMemory& recv, FirstUse* firstUse = nullptr);
  Status setProgress(ProgressEngine* progress);
  // Returns the memory of the two connections with a peer on one channel, for kernels of a GPU. Afterwards no operation
  // of the host may use these connections.
  StagedEnds connectionEnds(int peer, int channel);
  TransportKind transportOf(int peer) const { return transports_[peer]; }

  Status setRing(int channel, const std::vector<int>& order);
  Status setTree(int channel, int up, const std::vector<int>& down);
  Status setHosts(const std::vector<int>& hostOf);
  // Adds a schedule to each of the first channels, for operations whose choice names its algorithm. Must follow setHosts
  // and all connect calls.
  Status addSchedules(std::vector<std::unique_ptr<AddedSchedule>> schedules);
  void dropSchedules();
  Channel& channel(int number) { return *channels_[static_cast<size_t>(number)]; }
  // Checks that every channel has a ring, and that all connections of rings and trees exist.
  Status checkPlan() const;
  Status checkConnected(std::span<const PointToPointTask> tasks) const;
  std::vector<Channel::Need> needs(int channel) const { return channels_[channel]->needs(); }

  // Sets how user buffers of peers are found. Without a resolver, only threads of one process run operations in place.
  void setBufferResolver(BufferResolver* resolver) { zeroCopy_.setResolver(resolver); }

  // Sets the segment's memory, so that slots of large operations can get huge pages. `memory` must outlive the
  // communicator.
  void setSlotMemory(const ShmSegment* memory) { slotMemory_ = memory; }

  // The following methods run one operation. `wire` is the format between hosts. Each returns Ok, Invalid if it refused an argument, or the communicator's
  // failure. After a failure every later operation returns that failure at once.
  Code run(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv, int64_t count, int root,
           int64_t timeoutNanos, const Part& part = {}, const Wire& wire = {});
  Code runV(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv, const std::vector<int64_t>& counts,
            int root, int64_t timeoutNanos, const Part& part = {}, const Wire& wire = {});
  Code runPointToPoint(std::span<const PointToPointTask> tasks, int64_t timeoutNanos);

  // Prepares the next operation to pause where it would wait: run*() then returns Paused, and resume() continues it.
  // Returns false if operations of this communicator cannot pause, because calls of its network may block.
  bool pauseNext();
  // Continues the paused operation, which ends at the latest after `timeoutNanos`. If `pauses` is set, it may pause
  // again. Any thread may call this, one at a time.
  Code resume(int64_t timeoutNanos, bool pauses);

  // Returns the algorithm, protocol and channels that the last operation used. Only for the thread that ran it.
  Choice lastChoice() const { return lastChoice_; }

  void abort(Code code);
  Code failure() const { return static_cast<Code>(control_.failure.load(std::memory_order_acquire)); }
  std::string lastError() const;

  const History& history() const { return history_; }
  const TransferHistory& transfers() const { return transfers_; }
  const Counters& counters() const { return counters_; }
  TransportUse useOf(TransportKind transport) const;
  int64_t nanosOf(Collective collective) const;
  std::vector<ChannelWait> waiting() const;
  MemoryUsage memoryUsage() const;

 private:
  Code refuse(std::string why);
  Status openOperationThread();
  Worker::Holds holds();
  template <typename Body>
  Code onOperationThread(Body body);
  Code startPausing(std::function<Code()> body);
  Code codeOfFiber(bool ended);
  Code runHere(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv, int64_t count, int root,
               int64_t timeoutNanos, const Part& part, const Wire& wire);
  Code runVHere(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv,
                const std::vector<int64_t>& counts, int root, int64_t timeoutNanos, const Part& part, const Wire& wire);
  Code runPointToPointHere(std::span<const PointToPointTask> tasks, int64_t timeoutNanos);
  void enter(Operation& operation, int64_t timeoutNanos);
  Code finish(const Operation& operation, bool inPlace);
  Code execute(Operation& operation, int64_t timeoutNanos);
  bool triesInPlace(const Operation& operation) const;
  bool runInPlace(const Operation& operation, Transfer transfer);
  void runThroughSlots(const Operation& operation, Transfer& transfer);
  void takeHugePages(int channels);
  void runChannels(const Operation& operation, Transfer& transfer);
  void runChannel(int channel, const Operation& operation, Transfer& transfer) noexcept;
  Code failThrown() noexcept;
  Code executeTasks(Operation& operation, int64_t timeoutNanos);
  Protocol moveMessages(Collective collective, std::span<const PointToPointTask> tasks);
  Code runExchange(Operation& operation, int64_t timeoutNanos);
  Code runScan(Operation& operation, int64_t timeoutNanos);
  Choice adjustChoice(Choice choice, OperationCode code, bool evenParts, bool narrowed) const;
  bool narrows(const Wire& wire) const;
  void setWire(Operation& operation, const Wire& wire) const;
  Transfer transferOf(const Operation& operation) const;
  size_t inputBytes(const Operation& operation) const;
  size_t outputBytes(const Operation& operation) const;
  size_t partBytes(const Operation& operation) const;
  bool allLocal() const { return localPeers_ == config_.size - 1; }

  EngineConfig config_;
  SegmentShape shape_;
  Segment segment_;
  WaitControl control_;
  History history_;
  TransferHistory transfers_;
  Counters counters_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<TransportKind> transports_;
  std::vector<Segment> peerSegments_;
  int localPeers_ = 0;
  int addedSchedules_ = 0;  // number of channels that have an added schedule
  ReduceCopyFn kernels_[kDataTypeCount][kReduceOpCount] = {};

  // runs operations if calls of a network may block; null: the calling thread runs them
  std::unique_ptr<Worker> operationThread_;
  std::function<void()> operationBody_;
  bool operationThreadLeft_ = false;  // a call of the network never returned, and the thread was left behind
  bool pausesNext_ = false;
  Code pausedCode_ = Code::Ok;  // result of the operation in fiber_
  Fiber fiber_;
  std::unique_ptr<Workers> workers_;
  const Operation* inFlight_ = nullptr;
  Transfer transferInFlight_;
  uint64_t sequence_ = 0;
  // outputs of at least this size hardly fit into the cache, and bypass it until StorePolicy has measured both kinds of
  // store
  size_t streamingBytes_ = 0;
  Choice lastChoice_;
  StorePolicy slots_;           // decides about stores into peers' slots
  StorePolicy outputs_{1};      // decides about the output of operations through slots
  StorePolicy inPlaceOutputs_;  // decides about the output of operations in place
  ZeroCopy zeroCopy_;
  PointToPoint pointToPoint_;
  // tasks of the current exchange; the vector is reused, so that exchanges do not allocate
  std::vector<PointToPointTask> tasks_;
  std::vector<uint8_t> scanMemory_;  // partial results; kept between scans
  CoreSharing coreSharing_;
  const ShmSegment* slotMemory_ = nullptr;
  int hugeChannels_ = 0;  // number of channels for whose slots huge pages were requested

  mutable std::mutex errorMutex_;
  std::string error_;
};

}  // namespace jccl
