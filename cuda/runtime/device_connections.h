// The connections of a rank on a GPU: its segment, what it sends to its peers, their memory, and the tables that kernels
// read.
//
// Life: the plan is completed, then connectInfo, connect or connectStaged for every peer, prepare, then operations.
// Used by one thread at a time; what operations read does not change after prepare.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/adapter_memory.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/device_heap.h"
#include "cuda/runtime/device_plan.h"
#include "cuda/runtime/device_segment.h"
#include "cuda/runtime/peer_probe.h"
#include "cuda/runtime/peer_reach.h"
#include "cuda/runtime/registered_memory.h"

namespace jccl::device {

class DeviceConnections {
 public:
  explicit DeviceConnections(const DeviceCommunicatorConfig& config);

  // These functions are described in DeviceCommunicator. `stream` is one on which no kernel is.
  Status connectInfo(Stream stream, std::vector<uint8_t>& info);
  int takeDescriptor() { return descriptor_.release(); }
  std::string handleExchange() const;
  Status connect(int peer, std::span<const uint8_t> info, int descriptor);
  bool refusedDescriptor() const { return refusedDescriptor_; }
  void renounceDescriptors(const std::string& why);
  Status setStaged(int peer);
  Status makeDeviceSlots(int connections, std::shared_ptr<AdapterMemory>& slots);
  Status connectStaged(int peer, TransportKind transport, const std::vector<StagedEnds>& ends,
                       std::shared_ptr<const void> memory);
  std::vector<int> stagedChannels(int peer) const;
  std::vector<int> exchangeOnlyChannels(int peer) const;
  Status forwardedSlots(std::shared_ptr<AdapterMemory>& slots);
  uint8_t* forwardedSlotsOf(int peer) const;

  // Finds the memory by which this rank and each of the peers probe each other.
  Status findForProbe(const std::vector<int>& peers, std::vector<PeerProbe::Peer>& found) const;
  // Writes the tables of the kernels, which report their waits in `records`. All peers are connected. The caller holds
  // the guard of the device.
  Status prepare(Stream stream, ProgressRecord* records);

  const ConnectionShape& shape() const { return shape_; }
  DevicePlan& plan() { return plan_; }
  const DevicePlan& plan() const { return plan_; }
  PeerReach& reach() { return reach_; }
  // Returns the channels for the kernels, in device memory; valid after prepare.
  DeviceChannel* channels() const { return plan_.channelsIn(tables_.base()); }
  const DeviceSegment& segment() const { return *segment_; }
  // Returns the address at which this rank reaches the segment of a rank, which may be its own.
  uint8_t* segmentOf(int rank) const { return rank == config_.rank ? segment_->base() : peers_[rank].base; }
  bool usesDescriptors() const { return descriptors_; }
  // Returns true if all peers that connect by their own memory are threads of this process.
  bool allInProcess() const { return allInProcess_; }
  // Returns true if any peer is a thread of this process. Such a peer uses this rank's memory under this rank's address.
  bool anyInProcess() const { return anyInProcess_; }
  bool isInProcess(int peer) const { return peers_[peer].inProcess; }
  bool anyStaged() const;
  size_t deviceBytes() const;

  // At the end: takes the segment, which peers may have mapped. Then either leak() keeps the rest for good, because a
  // kernel may still use it, or retire() returns it when no kernel does.
  std::shared_ptr<DeviceSegment> takeSegment() { return std::move(segment_); }
  void leak();
  void retire();

 private:
  struct Introduction;
  struct PeerBlocks;

  Status makeSegment();
  Status describePeer(int peer, std::span<const uint8_t> info, int descriptor, DevicePlan::PeerSegment& segment);
  void disconnect(int peer);
  Status openPeer(int peer, const Introduction& theirs, int descriptor, DevicePlan::PeerSegment& segment);

  const DeviceCommunicatorConfig& config_;
  const ConnectionShape shape_;
  bool descriptors_, handles_;  // those of the configuration; renounceDescriptors() changes them
  DevicePlan plan_;
  std::shared_ptr<DeviceSegment> segment_ = std::make_shared<DeviceSegment>();
  UniqueFd descriptor_;       // descriptor of the segment; empty after takeDescriptor
  std::string noDescriptor_;  // reason why the segment has no descriptor
  bool refusedDescriptor_ = false;
  MemoryHandle handle_;
  std::string noHandle_;  // reason why the segment has no legacy handle
  HeapMemory tables_;
  std::vector<DevicePlan::PeerSegment> peers_;
  std::vector<PeerMemory> opened_;
  StagedMemory staged_;
  std::shared_ptr<AdapterMemory> adapterMemory_;
  bool allInProcess_ = true;
  bool anyInProcess_ = false;
  PeerReach reach_;
};

}  // namespace jccl::device
