// Rings, trees and the memory of connections: what the kernels of one rank read, and the blocks that its peers write into.
//
// The rank's segment is one allocation on its device:
//
//     0              buffer-exchange descriptors, channel x size + rank of the writer
//     page-aligned   bounce buffers of operations in place, one for each channel
//     page-aligned   connection blocks (primitives/layout.h), one for each pair of peer and channel that is used
//     page-aligned   SIMPLE slots of connections that are forwarded for ranks of this host (engine/forwarding.h)
//
// Rings and trees use the pairs of adjacent ranks. Direct schedules can need any peer: the channels below `openChannels` have a
// block for each. So do sends and receives: for every other pair there is a compact block (cuda/kernels/launch.h), except with
// staged peers, whose blocks the host moves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/kernels/launch.h"
#include "cuda/runtime/device_heap.h"
#include "engine/plan_arguments.h"
#include "engine/staging.h"

namespace jccl::device {

class DevicePlan {
 public:
  DevicePlan(int rank, int size, int channels, int openChannels, const ConnectionShape& shape);

  Status setRing(int channel, const std::vector<int>& order);
  Status setTree(int channel, int up, const std::vector<int>& down);
  Status setChain(int channel, const CollNetChain& chain);
  // The tree of the ranks of its host below the leader of the channel's chain, which is set before; -1: this rank leads.
  Status setHostTree(int channel, int up, const std::vector<int>& down);
  const CollNetChain& chain(int channel) const { return chains_[channel]; }
  bool complete() const;
  bool hasTrees() const { return hasTrees_; }
  int openChannels() const { return openChannels_; }
  // How many channels have a connection with a peer for sends and receives: the first ones.
  int exchangeChannels(int peer) const { return staged_[peer] ? openChannels_ : channels_; }
  // Whether the channel's connections with a peer are used, by more than exchanges.
  bool uses(int peer, int channel) const;
  size_t blockBytes(int peer, int channel) const {
    return uses(peer, channel) ? shape_.blockBytes() : compactShape(shape_).blockBytes();
  }

  static constexpr uint64_t kNone = ~uint64_t{0};
  // Where the blocks of all pairs begin in the segment, peer x channels + channel; kNone: there is none.
  const std::vector<uint64_t>& blockOffsets() const { return offsets_; }
  size_t segmentBytes() const { return segmentBytes_; }
  // So many connections are forwarded for others; where their slots begin in the segment.
  void setForwarded(int connections);
  int forwarded() const { return forwarded_; }
  size_t forwardedOffset() const { return forwardedOffset_; }
  size_t forwardedBytes() const { return static_cast<size_t>(forwarded_) * shape_.simpleSlotsBytes(); }
  static size_t descriptorOffset(int channel, int size, int poster) {
    return (static_cast<size_t>(channel) * size + poster) * sizeof(ExchangeDescriptor);
  }
  size_t bounceOffset() const;

  // A peer's segment in our address space; or, where its memory is not reached, the ends of connections in pinned memory of
  // the host, by channel.
  struct PeerSegment {
    uint8_t* base = nullptr;
    TransportKind transport = TransportKind::None;
    bool inProcess = false;
    std::vector<uint64_t> blockOffsets;
    uint64_t forwardedOffset = kNone;  // of the slots of what it forwards for others
    std::vector<StagedEnds> staged;
  };

  // The peer's memory is not reached, and neither ours by it: it needs no block in the segment.
  void setStaged(int peer);

  // Writes what the kernels read into `memory`, device memory of tableBytes(), through `staging`, which is as large. `network`:
  // of one that reduces, by channel, as far as there are.
  size_t tableBytes() const;
  void write(uint8_t* staging, uint8_t* memory, uint8_t* segment, const std::vector<PeerSegment>& peers,
             const std::vector<StagedEnds>& network, ProgressRecord* records) const;
  DeviceChannel* channelsIn(uint8_t* memory) const { return reinterpret_cast<DeviceChannel*>(memory); }

 private:
  struct Tree {
    int up = -1;
    std::vector<int> down;
    bool set = false;

    bool links(int peer) const { return up == peer || std::find(down.begin(), down.end(), peer) != down.end(); }
  };

  void place();
  size_t endsOfChannel() const {
    return static_cast<size_t>(size_) + 1;
  }  // in each direction: of all peers, and the network

  int rank_, size_, channels_, openChannels_;
  ConnectionShape shape_;
  std::vector<std::vector<int>> rings_;  // by channel, this rank first
  std::vector<int> positions_;           // of this rank, counted from rank 0 along the ring
  std::vector<Tree> trees_;
  bool hasTrees_ = false;
  std::vector<CollNetChain> chains_;
  std::vector<Tree> hostTrees_;
  std::vector<bool> staged_;
  std::vector<uint64_t> offsets_;
  int forwarded_ = 0;
  size_t forwardedOffset_ = 0;
  size_t segmentBytes_ = 0;
};

}  // namespace jccl::device
