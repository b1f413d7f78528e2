// A rank's communicator on a GPU: connections in device memory, and operations that are launches on a stream.
//
// Life: create, setRing and setTree for every channel, connectInfo, connect to every peer, prepare, then operations.
// Operations are put on the caller's stream and return at once; nothing waits for the device. Those of one communicator
// follow one another, also on different streams.
//
// Threads: run*() and what comes before by one thread at a time; query(), abort(), waiting() and lastError() by any thread
// at any time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/runtime/access_page.h"
#include "cuda/runtime/adapter_memory.h"
#include "cuda/runtime/argument_areas.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_heap.h"
#include "cuda/runtime/device_operation.h"
#include "cuda/runtime/device_plan.h"
#include "cuda/runtime/device_segment.h"
#include "cuda/runtime/keep_alive_group.h"
#include "cuda/runtime/multicast_memory.h"
#include "cuda/runtime/peer_reach.h"
#include "cuda/runtime/registered_buffers.h"
#include "cuda/runtime/registered_memory.h"
#include "cuda/runtime/shared_device.h"
#include "engine/diagnostics.h"
#include "engine/exchange_tasks.h"
#include "engine/history.h"
#include "engine/transfer_history.h"
#include "transport/coll_net_offer.h"

namespace jccl::device {

struct DeviceCommunicatorConfig {
  int rank = 0;
  int size = 1;
  int channels = 1;
  int device = 0;
  int threads = 256;  // of a block
  uint32_t simpleSlotBytes = 512 * 1024;
  uint32_t llSlotBytes = 64 * 1024;
  uint32_t ll128SlotBytes = 64 * 1024;
  uint32_t nvlsSlotBytes = 128 * 1024;
  uint64_t token[2] = {0, 0};                              // of the communicator, different from all others
  uint64_t recordedOperations = History::kDefaultRecords;  // see History
  bool descriptors = false;  // other processes get the segment as a file descriptor, where the driver has such
};

// An operation that was issued, or the code of the failure. A group is described by its last operation.
struct Issued {
  Code code = Code::Ok;
  uint64_t number = 0;    // 0 while a group keeps the operation
  Choice choice{};        // with which it is executed
  uint64_t sequence = 0;  // of the collective that was entered last
};

class DeviceCommunicator {
 public:
  static Status create(const DeviceCommunicatorConfig& config, std::unique_ptr<DeviceCommunicator>& communicator);
  // Ends what is in flight; memory that a kernel still uses then is kept for good.
  ~DeviceCommunicator();
  DeviceCommunicator(const DeviceCommunicator&) = delete;
  DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

  // How many blocks of so many threads can be resident on a device at once, for all ranks that share it, and how many of these
  // no communicator of this process has. Two multiprocessors are left to the application.
  static Status blockBudget(int device, int threads, int& blocks, int& free);

  Status setRing(int channel, const std::vector<int>& order) { return noted(plan_.setRing(channel, order)); }
  Status setTree(int channel, int up, const std::vector<int>& down) { return noted(plan_.setTree(channel, up, down)); }
  // Of the first channels, where a network may reduce.
  Status setChain(int channel, const CollNetChain& chain) { return noted(plan_.setChain(channel, chain)); }
  Status setHostTree(int channel, int up, const std::vector<int>& down) {
    return noted(plan_.setHostTree(channel, up, down));
  }
  // What the peers need; makes the segment.
  Status connectInfo(std::vector<uint8_t>& info);
  // The descriptor of the segment that connectInfo made, which the caller passes to its peers and closes; -1 if there is none.
  int takeDescriptor() { return descriptor_.release(); }
  // How other processes get the segment, and why not by a better path.
  std::string handleExchange() const;
  // By the peer's own memory, or why that is not reached. `descriptor` is what this process got for the peer's, -1 if it had
  // none or did not get it; it is closed.
  Status connect(int peer, std::span<const uint8_t> info, int descriptor = -1);
  // Whether connect was refused a descriptor; legacy handles may still work.
  bool refusedDescriptor() const { return refusedDescriptor_; }
  // Begins again, without descriptors: connectInfo and connect once more.
  void renounceDescriptors(const std::string& why);
  // The peer is on another host; before connectInfo, which then takes no memory for it.
  Status setStaged(int peer);
  // Memory of the GPU for the SIMPLE slots of so many staged connections, which an adapter reaches: see engine/staging.h.
  Status makeDeviceSlots(int connections, std::shared_ptr<AdapterMemory>& slots);
  // By memory of the host: the ends of the channels that stagedChannels names. Wins over connect. `memory` keeps it mapped, for
  // all peers.
  Status connectStaged(int peer, TransportKind transport, const std::vector<StagedEnds>& ends,
                       std::shared_ptr<const void> memory);
  std::vector<int> stagedChannels(int peer) const;
  // A network reduces on the first channels: the ends of those whose chain this rank leads, by channel, and what all ranks'
  // plug-ins can do. On all ranks, or on none.
  Status connectCollNet(const std::vector<StagedEnds>& ends, const CollNetOffer& common,
                        std::shared_ptr<const void> memory);
  void dropCollNet() { collNet_.clear(); }
  // This rank's GPU is to forward so many connections for ranks of its host, before connectInfo; their slots, once that has
  // been called, for this rank's adapter; and those of a peer, as this GPU reaches them: null where it does not.
  void setForwarded(int connections) { plan_.setForwarded(connections); }
  Status forwardedSlots(std::shared_ptr<AdapterMemory>& slots);
  uint8_t* forwardedSlotsOf(int peer) const {
    const DevicePlan::PeerSegment& segment = peers_[peer];
    return segment.base == nullptr || segment.forwardedOffset == DevicePlan::kNone
               ? nullptr
               : segment.base + segment.forwardedOffset;
  }
  // With `inPlace` all ranks of the communicator are threads of this process that reach each other's memory. `activity` counts
  // operations where a network moves staged connections; null otherwise.
  Status prepare(bool inPlace, StagingActivity* activity);
  // Sends known data over every connection with one protocol, and waits for it; all ranks call this together.
  Status selfTest(Protocol protocol, int64_t timeoutNanos);

  // NVLS, behind prepare: one rank makes a multicast object and gives the others what createMulticast wrote; all join; when all
  // have, all bind; when all have, all test it together. Any failure on any rank: all drop it. `descriptor` is what this process
  // got for the object of another, which is closed; -1 where a rank of this process made it.
  Status createMulticast(std::vector<uint8_t>& info);
  int takeMulticastDescriptor() { return multicastDescriptor_.release(); }
  Status joinMulticast(std::span<const uint8_t> info, int descriptor);
  Status bindMulticast();
  Status testMulticast(int64_t timeoutNanos);
  void dropMulticast();

  // Buffers on which ranks of several processes work in place, behind prepare. All ranks do this together, when their operations
  // are over: each describes its buffer, opens those of all peers by what they described, and uses them when all have opened
  // all; after any failure on any rank all drop it.
  Status describeBuffer(const void* memory, size_t bytes, std::vector<uint8_t>& info);
  // For other processes, of the buffer, if it needs one, and of this rank's access page; the caller closes them.
  struct BufferDescriptors {
    UniqueFd buffer, page;
  };
  BufferDescriptors takeBufferDescriptors();
  // `here` becomes the address of the peer's buffer in this process.
  Status openBuffer(int peer, std::span<const uint8_t> info, BufferDescriptors descriptors, int64_t timeoutNanos,
                    uint64_t& here);
  // `there`: the address of this rank's buffer in the process of each peer.
  Status useBuffer(std::vector<uint64_t> there, uint64_t& number);
  Status dropBuffer(int64_t timeoutNanos);
  // Closes what this rank has opened for it; the buffer may be freed when all ranks have.
  Status closeBuffer(uint64_t number, int64_t timeoutNanos);

  Issued run(OperationCode code, Choice choice, const void* send, void* recv, int64_t count, int root,
             int64_t timeoutNanos, Stream stream);
  Issued runV(OperationCode code, Choice choice, const void* send, void* recv, const std::vector<int64_t>& counts,
              int root, int64_t timeoutNanos, Stream stream);
  Issued runPointToPoint(Choice choice, std::vector<PointToPointTask> tasks, int64_t timeoutNanos, Stream stream);
  // Operations that run*() is given from here on are kept, with number 0, until endGroup puts all of them on the stream, in
  // their order and in as few launches as that takes; dropGroup forgets them.
  void beginGroup() { grouping_ = true; }
  Issued endGroup(int64_t timeoutNanos, Stream stream);
  void dropGroup();
  // The word that ends every wait of the kernels; lives as long as this object.
  const ChannelControls& controls() const { return controls_; }
  // The nearest choice that fits: the same on all ranks, because it depends on common facts only.
  Choice adjustChoice(Choice choice, OperationCode code) const;
  // The same without NVLS.
  Choice adjustChoice(Choice choice, Collective collective) const;
  // The stream of operations whose caller names none.
  Stream ownStream() const { return stream_; }
  // What to warn of, with the remedy, where ranks of this process use more streams than have a hardware queue each, or communicators
  // do not fit on the device together; else empty.
  std::string crowding() const;
  // What to warn of, with the remedy, that was not taken yet.
  bool hasNotice() const { return hasNotice_.load(std::memory_order_relaxed); }
  std::string takeNotice();

  // Whether an operation is over; a failure is a code below Ok. What was captured for a graph is over at once. Once an
  // operation in place has failed, the peers' operations fail, too, and it is over when no kernel accesses its buffers.
  Code query(uint64_t number, bool& done);
  void abort(Code code);
  Code failure() const;
  std::string lastError() const;
  std::vector<ChannelWait> waiting() const;
  uint64_t lastIssued() const;
  // Collectives have numbers that all ranks give alike; sends and receives have none, and what is captured for a graph,
  // which may be replayed any number of times, neither. An operation is entered when it is put on its stream.
  const History& history() const { return history_; }
  const TransferHistory& transfers() const { return transfers_; }
  // The number of the collective done last, by what the device reports now.
  uint64_t lastDone();
  // The number of the first that failed; 0: none.
  uint64_t failedSequence() const;
  size_t deviceBytes() const {
    return segment_->bytes() + tables_.bytes() + (adapterMemory_ == nullptr ? 0 : adapterMemory_->bytes());
  }

 private:
  static constexpr size_t kAreaBytes = 16 * 1024;  // of a group of some hundred operations

  struct Introduction;
  struct InFlight {
    uint64_t number = 0;
    Event event = nullptr;  // of the launch
    std::unique_ptr<ArgumentArea> arguments;
    Operation operation;     // without its counts; sequence 0: not in the history
    uint64_t transfers = 0;  // its number there, of sends and receives
    int blocks = 0;          // of the launch
    bool endsLaunch = true;

    bool isInPlace() const { return (operation.choice.flags & Choice::kZeroCopyUsed) != 0; }
  };

  explicit DeviceCommunicator(const DeviceCommunicatorConfig& config);
  Status allocateControl();
  Status shareDevice();
  Status noted(Status status);
  static uint32_t loadWord(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  Code refuse(const Status& status) { return noted(status).code(); }
  Status makeSegment();
  Status describePeer(int peer, std::span<const uint8_t> info, int descriptor, DevicePlan::PeerSegment& segment);
  Status openPeer(int peer, const Introduction& theirs, int descriptor, DevicePlan::PeerSegment& segment);

  Status allocateForTests();
  struct MulticastIntroduction;
  Status testOnce(OperationCode code, Choice choice, size_t count, int64_t timeoutNanos);

  bool inPlaceFits(Collective collective) const;
  size_t collNetBytes(OperationCode code) const;
  Status registerStaged(const StagedEnds& ends);
  Status checkReach(DeviceOperation& operation);
  LaunchControl controlOf(uint64_t number, int64_t timeoutNanos) const;
  Issued submit(DeviceOperation operation, int64_t timeoutNanos, Stream stream);
  // Those of one launch.
  Issued launch(std::span<const DeviceOperation> operations, int64_t timeoutNanos, Stream stream);
  Issued launchWorks(std::span<const DeviceOperation> operations, int64_t timeoutNanos, Stream stream);
  Issued launchTasks(std::span<const DeviceOperation> operations, int64_t timeoutNanos, Stream stream);
  Work workOf(const DeviceOperation& operation, LaunchArguments& arguments) const;
  template <class Descriptor>
  Issued issue(Descriptor& launch, std::unique_ptr<ArgumentArea> arguments, std::span<const DeviceOperation> operations,
               int64_t timeoutNanos, Stream stream);
  Status makeEvents();
  Status takeEvent(Event& event);
  void enter(InFlight& flight, std::span<const PointToPointTask> tasks);
  void ended(const InFlight& flight, bool ok);
  uint64_t firstWaiting() const;
  void failed(Code code, uint64_t number, uint64_t sequence, std::string why);
  bool reclaimBuffers();
  bool releaseBuffers();
  void answerPeers();
  Status retireOpened(RegisteredBuffers::Opened opened, int64_t timeoutNanos);
  Status awaitQuiet(int64_t timeoutNanos, const std::function<bool()>& attempt);
  void broken(const InFlight& flight, const Status& status);
  Status takeArea(size_t bytes, std::unique_ptr<ArgumentArea>& area);
  void giveBack(std::unique_ptr<ArgumentArea> area);
  Status checkStream(Stream stream, const StreamName& name);
  Status orderAfterLast(Stream stream, const StreamName& name, bool capturing);
  double shareInFlight();
  Status waitForAll(Stream stream);
  Status takeTurn(int blocks, Stream stream, const StreamName& name, bool capturing, SharedDevice::Turn& turn);
  Status endTurn(Stream stream, bool capturing);
  void reap();

  DeviceCommunicatorConfig config_;
  ConnectionShape shape_;
  DevicePlan plan_;
  std::shared_ptr<DeviceSegment> segment_ = std::make_shared<DeviceSegment>();
  UniqueFd descriptor_;       // of the segment, until it is taken
  std::string noDescriptor_;  // why the segment has none
  bool refusedDescriptor_ = false;
  MemoryHandle handle_;
  std::string noHandle_;  // why there is no legacy handle
  HeapMemory tables_, control_;
  MulticastMemory multicast_;
  UniqueFd multicastDescriptor_;
  std::vector<DevicePlan::PeerSegment> peers_;
  std::vector<PeerMemory> opened_;
  StagedMemory staged_;
  std::vector<StagedEnds> collNet_;  // by channel
  CollNetOffer collNetOffer_;
  std::shared_ptr<AdapterMemory> adapterMemory_;
  StagingActivity* activity_ = nullptr;
  bool allInProcess_ = true;   // whose memory is used
  bool anyInProcess_ = false;  // of peers, which then use this rank's memory under its own address
  bool inPlace_ = false;
  bool prepared_ = false;
  bool testing_ = false;              // the connections: no operations of the application
  HeapMemory testDevice_, testHost_;  // taken before any rank tests: then kernels spin

  // In `control_`.
  ChannelControls controls_{};
  ProgressRecord* records_ = nullptr;

  double shareOfBlock_ = 0;  // of a multiprocessor
  std::shared_ptr<KeepAliveGroup> keepAlive_;
  Stream stream_ = nullptr;
  std::optional<uint64_t> lastStream_, checkedStream_;  // their ids
  std::optional<uint64_t> capturedOn_;                  // its handle
  Event order_ = nullptr;                               // of the last operation, from the first capture on
  PeerReach reach_;
  RegisteredBuffers buffers_;
  UniqueFd bufferDescriptor_, pageDescriptor_;  // of the buffer that is being registered; of this rank's page
  std::vector<AccessPage> pages_;               // by rank; empty where all are threads of one process
  bool toldUnreached_ = false;
  std::atomic<bool> hasNotice_{false};
  bool grouping_ = false;
  std::vector<DeviceOperation> group_;
  std::vector<std::unique_ptr<ArgumentArea>> capturedAreas_;
  std::mutex issuing_;  // held from the check for a failure until a launch is in flights_; locked before mutex_

  mutable std::mutex mutex_;  // of what follows
  ArgumentAreas areas_;
  std::vector<Event> events_;  // free ones
  uint64_t issued_ = 0;
  std::deque<InFlight> flights_;  // in their order, which is that of their ends
  uint64_t firstFailed_ = 0;      // 0: none
  // Whether peers may still access the buffers of the operation that failed, and since when this rank waits for that.
  bool exposed_ = false;
  std::optional<std::chrono::steady_clock::time_point> exposedSince_;
  uint64_t sequence_ = 0;  // of collectives
  uint64_t failedSequence_ = 0;
  // Read by any thread at any time.
  History history_;
  TransferHistory transfers_;
  Code failure_ = Code::Ok;
  bool deviceFailed_ = false;  // nothing on it comes to an end any more
  std::string error_;
  std::string notice_;
};

}  // namespace jccl::device
