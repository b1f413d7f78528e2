// A rank's communicator on a GPU: connections in device memory, and operations that are kernel launches on a stream.
//
// Life: create, setRing and setTree for every channel, connectInfo, connect to every peer, prepare, then operations.
// Operations are put on the caller's stream and return at once; no call waits for the device. Operations of one
// communicator follow one another, even on different streams.
//
// Threads: one thread at a time calls run*() and the functions before it; any thread may call query(), abort(),
// waiting() and lastError() at any time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/runtime/added_algorithm.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_completion.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/device_connections.h"
#include "cuda/runtime/device_issuing.h"
#include "cuda/runtime/device_order.h"
#include "cuda/runtime/device_reclaim.h"
#include "cuda/runtime/device_registration.h"
#include "cuda/runtime/self_test.h"
#include "engine/diagnostics.h"

namespace jccl::device {

class DeviceCommunicator {
 public:
  static Status create(const DeviceCommunicatorConfig& config, std::unique_ptr<DeviceCommunicator>& communicator);
  // Aborts the operations in flight. Memory that a kernel still uses after that is never freed.
  ~DeviceCommunicator();
  DeviceCommunicator(const DeviceCommunicator&) = delete;
  DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

  // Sets `blocks` to the number of blocks of `threads` threads that can be resident on a device at once; all ranks on
  // the device share them. Sets `free` to the number of these blocks that no communicator of this process uses. Two
  // multiprocessors are left to the application.
  static Status blockBudget(int device, int threads, int& blocks, int& free);

  Status setRing(int channel, const std::vector<int>& order) { return noted(plan().setRing(channel, order)); }
  Status setTree(int channel, int up, const std::vector<int>& down) { return noted(plan().setTree(channel, up, down)); }
  // Allocates the segment, and writes the information that peers need to connect.
  Status connectInfo(std::vector<uint8_t>& info) { return noted(connections_.connectInfo(ownStream(), info)); }
  // Returns the descriptor of the segment that connectInfo allocated, -1 if there is none. The caller passes it to the
  // peers and closes it.
  int takeDescriptor() { return connections_.takeDescriptor(); }
  // Describes how other processes map the segment, and why they do not use a better method.
  std::string handleExchange() const { return connections_.handleExchange(); }
  // Connects to memory of the peer's GPU; the error says why this rank cannot reach it. `descriptor` is the peer's
  // descriptor as this process received it, -1 if the peer has none or it did not arrive; connect closes it. Replaces an
  // earlier connection to the peer.
  Status connect(int peer, std::span<const uint8_t> info, int descriptor = -1) {
    return noted(connections_.connect(peer, info, descriptor));
  }
  // Returns true if the last connect did not receive or could not map the peer's descriptor; a legacy handle may still
  // work.
  bool refusedDescriptor() const { return connections_.refusedDescriptor(); }
  // Resets the communicator to offer no descriptor. Call connectInfo, and connect again to all peers. Its peers call
  // connect again for this rank.
  void renounceDescriptors(const std::string& why) { connections_.renounceDescriptors(why); }
  // Marks a peer on another host. Called before connectInfo, which then allocates no block for the peer.
  Status setStaged(int peer) { return noted(connections_.setStaged(peer)); }
  // Allocates GPU memory that an adapter reaches, for the SIMPLE slots of `connections` staged connections: see
  // engine/staging.h.
  Status makeDeviceSlots(int connections, std::shared_ptr<AdapterMemory>& slots) {
    return noted(connections_.makeDeviceSlots(connections, slots));
  }
  // Connects to the peer through host memory; called instead of connect. `ends` are for the channels of stagedChannels,
  // in their order. `memory` keeps the host memory of all peers mapped.
  Status connectStaged(int peer, TransportKind transport, const std::vector<StagedEnds>& ends,
                       std::shared_ptr<const void> memory) {
    return noted(connections_.connectStaged(peer, transport, ends, std::move(memory)));
  }
  std::vector<int> stagedChannels(int peer) const { return connections_.stagedChannels(peer); }
  // Returns those of stagedChannels() that only sends and receives use. Over a network, their connections have the shape
  // of exchangeShape().
  std::vector<int> exchangeOnlyChannels(int peer) const { return connections_.exchangeOnlyChannels(peer); }
  // setForwarded sets the number of connections that this GPU forwards for ranks of its host; call it before
  // connectInfo. After connectInfo, forwardedSlots returns the slots of these connections for this rank's adapter.
  // forwardedSlotsOf returns the address at which this GPU reaches the forwarded slots of a peer, null if it does not
  // reach them.
  void setForwarded(int connections) { plan().setForwarded(connections); }
  Status forwardedSlots(std::shared_ptr<AdapterMemory>& slots) { return noted(connections_.forwardedSlots(slots)); }
  uint8_t* forwardedSlotsOf(int peer) const { return connections_.forwardedSlotsOf(peer); }
  // Takes step `step` of probing the memory of the given peers, which all ranks take together, from 0 to kProbeSteps - 1,
  // after all have connected. All ranks end a step before any begins the next one. The last step sets `failures`, by
  // rank, as PeerProbe::check does.
  static constexpr int kProbeSteps = SelfTests::kProbeSteps;
  Status probe(int step, const std::vector<int>& peers, int64_t timeoutNanos, std::vector<uint8_t>& failures);
  // With `inPlace`, all ranks of the communicator are threads of this process that reach each other's memory.
  // `activity` counts operations if a network moves staged connections; it is null otherwise.
  Status prepare(bool inPlace, StagingActivity* activity);
  // Sends known data over every connection with one protocol, and waits for it. All ranks call this together.
  Status selfTest(Protocol protocol, int64_t timeoutNanos) { return tests_.connections(protocol, timeoutNanos); }
  // Sends known data by operations in place, which read and write buffers of all peers. All ranks call this together.
  Status testInPlace(int64_t timeoutNanos) { return tests_.inPlace(timeoutNanos); }
  // Uses no operations in place from now on.
  void renounceInPlace() { issuing_.renounceInPlace(); }

  // Returns this communicator's object of a class of AddedAlgorithm, and makes it first if there is none. Not called
  // while operations run.
  template <class Added>
  Added& added() {
    for (const auto& one : added_) {
      if (auto* found = dynamic_cast<Added*>(one.get())) return *found;
    }
    auto made = std::make_unique<Added>(*this);
    Added& result = *made;
    added_.push_back(std::move(made));
    return result;
  }
  // Sums known data by an added algorithm, then all-reduces small data by each of `reductions`, and waits for it. All
  // ranks call this together.
  Status testAdded(Algorithm algorithm, std::span<const OperationCode> reductions, int64_t timeoutNanos) {
    return tests_.added(algorithm, reductions, timeoutNanos);
  }

  // Registers buffers on which ranks of several processes work in place, after prepare. All ranks do this together,
  // when their operations have ended. Each rank describes its buffer, opens the buffers of all peers by their `info`,
  // and uses them when all ranks have opened all buffers. After a failure on any rank, all ranks drop the buffer.
  Status describeBuffer(const void* memory, size_t bytes, std::vector<uint8_t>& info) {
    return noted(registration_.describeBuffer(memory, bytes, info));
  }
  using BufferDescriptors = device::BufferDescriptors;
  BufferDescriptors takeBufferDescriptors() { return registration_.takeBufferDescriptors(); }
  // Sets `here` to the address of the peer's buffer in this process.
  Status openBuffer(int peer, std::span<const uint8_t> info, BufferDescriptors descriptors, int64_t timeoutNanos,
                    uint64_t& here) {
    return noted(registration_.openBuffer(peer, info, std::move(descriptors), timeoutNanos, here));
  }
  // `there` contains, by peer, the address of this rank's buffer in the peer's process.
  Status useBuffer(std::vector<uint64_t> there, uint64_t& number) {
    return noted(registration_.useBuffer(std::move(there), number));
  }
  Status dropBuffer(int64_t timeoutNanos) { return noted(registration_.dropBuffer(timeoutNanos)); }
  // Closes the peers' buffers that this rank opened for the registration. The application may free its buffer when all
  // ranks have done so.
  Status closeBuffer(uint64_t number, int64_t timeoutNanos) {
    return noted(registration_.closeBuffer(number, timeoutNanos));
  }

  // Allocates zeroed memory that can be registered. freeWindow frees it when no kernel of any rank uses it any more;
  // this object's destructor frees the rest as it frees the segment.
  Status allocateWindow(size_t bytes, int64_t timeoutNanos, uint8_t*& memory) {
    const bool descriptors =
        std::any_of(added_.begin(), added_.end(), [](const auto& one) { return one->needsDescriptors(); });
    return noted(registration_.allocateWindow(ownStream(), bytes, descriptors, timeoutNanos, memory));
  }
  // Lets operations use the window without exchanging addresses, once all ranks have allocated theirs; all ranks call
  // this together. `here` are the addresses of the windows in this process, by rank; `there` those of this rank's window
  // in the peers' processes, empty if all peers use this rank's own address.
  Status useWindow(const uint8_t* memory, std::vector<uint64_t> here, std::vector<uint64_t> there) {
    return noted(registration_.useWindow(memory, std::move(here), std::move(there)));
  }
  Status freeWindow(const uint8_t* memory) { return noted(registration_.freeWindow(memory)); }
  // Returns the memory of allocateWindow at an address; null if there is none.
  const DeviceSegment* windowAt(const uint8_t* memory) const { return registration_.windows().memoryOf(memory); }

  // A positive `timeoutNanos` limits the time of a kernel, 0 does not. A negative one stands for the time-out of the
  // communicator, -timeoutNanos. The host keeps it for collectives, because only the host learns when all ranks have
  // entered one. Kernels keep it for sends and receives and for replays of graphs, which the host does not follow.
  Issued run(OperationCode code, Choice choice, const void* send, void* recv, int64_t count, int root,
             int64_t timeoutNanos, Stream stream) {
    return issuing_.run(code, choice, send, recv, count, root, timeoutNanos, stream);
  }
  Issued runV(OperationCode code, Choice choice, const void* send, void* recv, const std::vector<int64_t>& counts,
              int root, int64_t timeoutNanos, Stream stream) {
    return issuing_.runV(code, choice, send, recv, counts, root, timeoutNanos, stream);
  }
  Issued runPointToPoint(Choice choice, std::vector<PointToPointTask> tasks, int64_t timeoutNanos, Stream stream) {
    return issuing_.runPointToPoint(choice, std::move(tasks), timeoutNanos, stream);
  }
  // After beginGroup, run*() keeps its operations and returns number 0. endGroup puts all of them on the stream, in
  // order and in as few launches as possible; dropGroup discards them.
  void beginGroup() { issuing_.beginGroup(); }
  Issued endGroup(int64_t timeoutNanos, Stream stream) { return issuing_.endGroup(timeoutNanos, stream); }
  void dropGroup() { issuing_.dropGroup(); }
  const DeviceCommunicatorConfig& config() const { return config_; }
  const ConnectionShape& shape() const { return connections_.shape(); }
  DevicePlan& plan() { return connections_.plan(); }
  // Returns true if all peers that connect by their own memory are threads of this process.
  bool allInProcess() const { return connections_.allInProcess(); }
  // Returns the channels for the kernels, in device memory; valid after prepare.
  DeviceChannel* channels() const { return connections_.channels(); }
  // Returns the control words that end every wait of the kernels. The words live as long as this object.
  const ChannelControls& controls() const { return completion_.controls(); }
  // Returns the nearest choice that this communicator can execute. All ranks get the same choice, because it depends
  // only on facts that they share.
  Choice adjustChoice(Choice choice, OperationCode code) const { return issuing_.adjustChoice(choice, code); }
  // Returns the nearest choice among ring, tree and direct.
  Choice adjustChoice(Choice choice, Collective collective) const { return issuing_.adjustChoice(choice, collective); }
  // Returns this communicator's own stream, for operations without a stream of the application.
  Stream ownStream() const { return order_.ownStream(); }
  // Returns a warning, with the remedy, if ranks of this process use more streams than there are hardware queues, or if
  // communicators do not fit on the device together; else an empty text.
  std::string crowding() const;
  // hasNotice returns true if there is a warning that takeNotice has not returned yet. takeNotice returns the warning,
  // with the remedy, once.
  bool hasNotice() const { return issuing_.hasNotice(); }
  std::string takeNotice() { return issuing_.takeNotice(); }

  // Sets `done` to true if an operation has ended; returns the failure, or Ok. A captured operation counts as ended at
  // once. If an operation in place fails, the same operation of the peers fails, too, and the failed operation counts
  // as ended only when no kernel accesses its buffers.
  Code query(uint64_t number, bool& done);
  // Notes in the histories which operations have ended since somebody last looked.
  void refresh() { completion_.refresh(); }
  // Returns what kernels report of their ends; null if a network moves data, because query() then also tells the network
  // that an operation has ended.
  const LaunchReport* report() const { return completion_.hasActivity() ? nullptr : completion_.report(); }
  void abort(Code code) { completion_.abort(code); }
  Code failure() const { return completion_.failure(); }
  std::string lastError() const;
  // Keeps the message of a failure for lastError, and returns the status.
  Status noted(Status status) { return completion_.noted(std::move(status)); }
  std::vector<ChannelWait> waiting() const;
  uint64_t lastIssued() const { return completion_.lastIssued(); }
  // The last operations, recorded when they are put on their streams. Collectives have sequence numbers that are equal
  // on all ranks. Sends and receives have none, nor do captured operations, which may be replayed any number of times.
  const History& history() const { return completion_.history(); }
  const TransferHistory& transfers() const { return completion_.transfers(); }
  // Returns the sequence number of the last collective that has ended, as the device reports it now.
  uint64_t lastDone();
  // Returns the sequence number of the first collective that failed; 0: none.
  uint64_t failedSequence() const { return completion_.failedSequence(); }
  size_t deviceBytes() const;

 private:
  explicit DeviceCommunicator(const DeviceCommunicatorConfig& config);

  const DeviceCommunicatorConfig config_;
  DeviceConnections connections_;
  AddedAlgorithms added_;
  SelfTests tests_{*this};
  DeviceCompletion completion_;
  DeviceOrder order_;
  DeviceReclaim reclaim_;
  DeviceRegistration registration_;
  DeviceIssuing issuing_;
};

}  // namespace jccl::device
