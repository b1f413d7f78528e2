// Rings, trees and the memory of connections: the tables that the kernels of one rank read, and the blocks into which
// its peers write.
//
// The rank's segment is one allocation on its device:
//
//     0              buffer-exchange descriptors, channel x size + rank of the writer
//     page-aligned   bounce buffers of operations in place, one for each channel
//                    (neither with more than kMaxDirectRanks ranks)
//     page-aligned   connection blocks (primitives/layout.h), one for each pair of peer and channel that is used
//     page-aligned   SIMPLE slots of connections that are forwarded for ranks of this host (pxn/forwarding.h)
//
// Rings and trees use the pairs of adjacent ranks. Direct schedules of up to kMaxDirectRanks ranks can need any peer, so
// each channel below `openChannels` then has a block for every peer. Sends and receives need all pairs: the remaining
// ones have a compact block (primitives/exchange_shape.h), with staged peers only on channels below `openChannels`. The
// blocks of a peer are adjacent, in the order of the channels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cuda/kernels/launch.h"
#include "cuda/runtime/device_heap.h"
#include "engine/plan_arguments.h"
#include "engine/staging.h"

namespace jccl::device {

class DevicePlan {
 public:
  // Channels with connections to every peer for direct schedules, sends and receives.
  static constexpr int kOpenChannels = 2;

  DevicePlan(int rank, int size, int channels, int openChannels, const ConnectionShape& shape);

  Status setRing(int channel, const std::vector<int>& order);
  Status setTree(int channel, int up, const std::vector<int>& down);
  // Lets an added algorithm use the channel's connections with the peer. Both ranks call this, before their segments are
  // made.
  void addLink(int channel, int peer);
  // Sets ends of connections that lead to no rank, by channel; there may be fewer than channels. Their index in
  // DeviceChannel::sends and recvs is the number of ranks.
  void setExtraEnds(std::vector<StagedEnds> ends) { extraEnds_ = std::move(ends); }
  bool complete() const;
  bool hasTrees() const { return hasTrees_; }
  int openChannels() const { return openChannels_; }
  // Returns the number of channels, counted from 0, that have a connection with the peer for sends and receives.
  int exchangeChannels(int peer) const { return throughHost_[peer] ? openChannels_ : channels_; }
  // Returns true if there are connections with the peer on the channel.
  bool connects(int peer, int channel) const {
    return peer != rank_ && (channel < exchangeChannels(peer) || uses(peer, channel));
  }
  // Returns true if the channel has a connection with a staged peer.
  bool stages(int peer, int channel) const { return peer != rank_ && (channel < openChannels_ || uses(peer, channel)); }
  // Returns true if a staged connection has the exchange shape: networks move it, and only sends and receives use it.
  bool isStagedCompact(int peer, int channel, TransportKind transport) const {
    return isNetwork(transport) && !uses(peer, channel);
  }
  // Returns true if kernels can execute direct collectives, through slots or in place.
  bool allowsDirect() const { return size_ <= kMaxDirectRanks; }
  // Returns the shape of connections that only sends and receives use.
  const ConnectionShape& exchangeShape() const { return exchangeShape_; }
  // Returns true if other operations than sends and receives use the channel's connections with the peer.
  bool uses(int peer, int channel) const;
  // Returns the shape of the channel's blocks for a peer in the segment.
  const ConnectionShape& shapeOf(int peer, int channel) const { return uses(peer, channel) ? shape_ : exchangeShape_; }

  static constexpr uint64_t kNone = ~uint64_t{0};
  // Returns the offset of a peer's blocks in the segment; kNone: it has none.
  uint64_t blocksOf(int peer) const { return placed().blocks[peer]; }
  // Returns the bytes of a peer's blocks on channels below `channel`.
  size_t bytesBelow(int peer, int channel) const;
  size_t segmentBytes() const { return placed().segmentBytes; }
  // Sets the number of connections that this rank forwards for others. Their slots begin at forwardedOffset() in the
  // segment.
  void setForwarded(int connections);
  int forwarded() const { return forwarded_; }
  size_t forwardedOffset() const { return placed().forwardedOffset; }
  size_t forwardedBytes() const { return static_cast<size_t>(forwarded_) * shape_.simpleSlotsBytes(); }
  static size_t descriptorOffset(int channel, int size, int poster) {
    return (static_cast<size_t>(channel) * size + poster) * sizeof(ExchangeDescriptor);
  }
  size_t bounceOffset() const;

  // A peer's segment in our address space. If this rank does not reach the peer's memory, `staged` contains the ends of
  // the connections in pinned host memory, by channel.
  struct PeerSegment {
    uint8_t* base = nullptr;
    TransportKind transport = TransportKind::None;
    bool inProcess = false;
    uint64_t blocks = kNone;           // offset of this rank's blocks in the peer's segment
    uint64_t forwardedOffset = kNone;  // offset of the slots of connections that the peer forwards for others
    std::vector<StagedEnds> staged;
  };

  // Marks a peer that does not reach this rank's memory and whose memory this rank does not reach. The segment contains
  // no block for this peer.
  void setStaged(int peer);
  // Marks a peer that is connected through host memory. The segment may contain blocks for it, because this can become
  // known after the segments are made.
  void setThroughHost(int peer) { throughHost_[peer] = true; }

  // Writes the tables that the kernels read into `staging`, host memory of tableBytes(). The caller copies them to
  // `memory`, which is device memory of the same size.
  size_t tableBytes() const;
  void write(uint8_t* staging, uint8_t* memory, uint8_t* segment, const std::vector<PeerSegment>& peers,
             ProgressRecord* records) const;
  DeviceChannel* channelsIn(uint8_t* memory) const { return reinterpret_cast<DeviceChannel*>(memory); }

 private:
  struct Tree {
    int up = -1;
    std::vector<int> down;
    bool set = false;

    bool links(int peer) const { return up == peer || std::find(down.begin(), down.end(), peer) != down.end(); }
  };

  // Offsets in the segment.
  struct Placement {
    std::vector<uint64_t> blocks;  // by peer
    size_t forwardedOffset = 0;
    size_t segmentBytes = 0;
  };

  const Placement& placed() const;
  // Ends of a channel in each direction: one for every rank, and the extra end.
  size_t endsOfChannel() const { return static_cast<size_t>(size_) + 1; }

  int rank_, size_, channels_, openChannels_;
  ConnectionShape shape_, exchangeShape_;
  std::vector<std::vector<int>> rings_;  // ring orders by channel, beginning with this rank
  std::vector<int> positions_;           // this rank's place on each ring, counted from rank 0
  std::vector<Tree> trees_;
  bool hasTrees_ = false;
  std::vector<std::vector<int>> links_;  // peers of added algorithms, by channel
  std::vector<StagedEnds> extraEnds_;    // by channel
  std::vector<bool> staged_, throughHost_;
  int forwarded_ = 0;
  mutable std::optional<Placement> placed_;  // empty after a change
};

}  // namespace jccl::device
