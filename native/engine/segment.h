// The memory that a rank shares with the ranks on its host.
//
//     page 0           SegmentHeader: lets a peer check that it mapped the right segment
//     4096             EventCount: peers wake this rank
//     4096 + 128       CpuPlacement: the core on which this rank runs
//     4096 + 192       PeerAccess: stops this rank's use of peers' buffers
//     4096 + 256       BufferExchange lines, one for each rank of the communicator, written by that rank
//     page-aligned     connection blocks (primitives/layout.h), index = peer rank x channels + channel
//     page-aligned     EventCount of messages, padded to a page, then an inbox for each rank (messages/ring_link.h)
//
// Blocks and inboxes that nothing uses cost only address space, because the file is sparse.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cpu_placement.h"
#include "base/event_count.h"
#include "base/fd.h"
#include "base/status.h"
#include "primitives/layout.h"

namespace jccl {

struct SegmentHeader {
  static constexpr uint64_t kMagic = 0x4a43434c53454731;  // "JCCLSEG1"
  static constexpr uint32_t kVersion = 3;

  uint64_t magic;
  uint32_t version;
  uint32_t rank;
  uint32_t size;
  uint32_t channels;
  uint32_t slotBytes[3];  // SIMPLE, LL, LL128
  uint32_t rotates;
  uint64_t token[2];  // the communicator's id
  uint64_t bytes;
};

// The location of a rank's buffers in an operation that may run in place.
struct BufferLocations {
  bool shared = false;  // peers can access all buffers of this rank that they use
  uint64_t sendSegment = 0, sendOffset = 0;
  uint64_t recvSegment = 0, recvOffset = 0;
  uint64_t fingerprint = 0;
};

// The buffer-exchange descriptor that a rank writes for each peer before an operation that may run in place. A rank
// that only sends and whose buffers are ordinary may be any number of operations ahead of its peers. So a later
// descriptor can replace the one that a peer is about to read.
class alignas(64) BufferDescriptor {
 public:
  void publish(uint64_t sequence, const BufferLocations& own) {
    sequence_.store(0, std::memory_order_relaxed);
    const uint64_t values[kValues] = {own.shared,      own.sendSegment, own.sendOffset,
                                      own.recvSegment, own.recvOffset,  own.fingerprint};
    // Each store releases the preceding invalidation of sequence_: a reader that has read a new value also sees the
    // invalidation.
    for (int i = 0; i < kValues; ++i) values_[i].store(values[i], std::memory_order_release);
    sequence_.store(sequence, std::memory_order_release);
  }

  // Returns true if the descriptor of this operation or of a later one has been published.
  bool isPublished(uint64_t sequence) const { return sequence_.load(std::memory_order_acquire) >= sequence; }

  // Reads a published descriptor. Returns false if a later one replaced it before or during the read.
  bool read(uint64_t sequence, BufferLocations& theirs) const {
    uint64_t values[kValues];
    for (int i = 0; i < kValues; ++i) values[i] = values_[i].load(std::memory_order_acquire);
    theirs = {values[0] != 0, values[1], values[2], values[3], values[4], values[5]};
    return sequence_.load(std::memory_order_relaxed) == sequence;
  }

 private:
  static constexpr int kValues = 6;
  std::atomic<uint64_t> sequence_;  // sequence number of the operation; written last; 0 while the values change
  std::atomic<uint64_t> values_[kValues];
};
static_assert(sizeof(BufferDescriptor) == 64);

struct alignas(64) CompletionFlag {
  std::atomic<uint64_t> sequence;
};

// The memory that one rank writes for another. Operations use the two descriptors and the two flags alternately: a
// writer that waits for the reader can be one operation ahead of the reader, but never two.
struct BufferExchange {
  BufferDescriptor descriptors[2];
  CompletionFlag finished[2];
};
static_assert(sizeof(BufferExchange) == 256);

// The line through which a rank whose operation fails revokes the buffers that the owner of this segment uses in place.
// The rank that owns a buffer writes `revokedBy` in the segment of each peer and then reads `inside`; the peer writes
// `inside` and then reads `revokedBy`, all sequentially consistent. So either the peer sees the revocation before it
// touches a buffer, or the owner sees that the peer is inside.
struct alignas(64) PeerAccess {
  std::atomic<uint32_t> inside;     // written by the segment's rank: nonzero while it uses peers' buffers
  std::atomic<uint32_t> revokedBy;  // written by peers: rank + 1 of a peer whose buffers must not be used any more
};
static_assert(sizeof(PeerAccess) == 64);

struct SegmentShape {
  uint32_t size = 1;
  uint32_t channels = 1;
  ConnectionShape connection;
  bool rotates = true;  // see ConnectionMemory; the same at both ends of a connection

  static constexpr size_t kEventCountOffset = 4096;
  static constexpr size_t kCpuPlacementOffset = 4096 + 128;
  static constexpr size_t kPeerAccessOffset = 4096 + 192;
  static constexpr size_t kBufferExchangeOffset = 4096 + 256;
  size_t blocksOffset() const { return (kBufferExchangeOffset + size * sizeof(BufferExchange) + 4095) / 4096 * 4096; }
  size_t blockOffset(int peer, int channel) const {
    return blocksOffset() + (static_cast<size_t>(peer) * channels + channel) * connection.blockBytes();
  }
  static constexpr size_t kInboxBytes = 128 * 1024;  // for the messages of one rank
  size_t inboxEventsOffset() const { return (blockOffset(static_cast<int>(size), 0) + 4095) / 4096 * 4096; }
  size_t inboxOffset(int peer) const { return inboxEventsOffset() + 4096 + peer * kInboxBytes; }
  size_t bytes() const { return inboxOffset(static_cast<int>(size)); }
};

// A view of a segment, this rank's or a peer's, in the address space of this process.
class Segment {
 public:
  Segment() = default;
  Segment(uint8_t* base, const SegmentShape& shape) : base_(base), shape_(shape) {}

  explicit operator bool() const { return base_ != nullptr; }
  uint8_t* base() const { return base_; }
  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }
  EventCount& events() const { return *reinterpret_cast<EventCount*>(base_ + SegmentShape::kEventCountOffset); }
  CpuPlacement& cpuPlacement() const {
    return *reinterpret_cast<CpuPlacement*>(base_ + SegmentShape::kCpuPlacementOffset);
  }
  PeerAccess& peerAccess() const { return *reinterpret_cast<PeerAccess*>(base_ + SegmentShape::kPeerAccessOffset); }
  // Returns the lines that `rank` writes for the owner of this segment.
  BufferExchange& bufferExchangeOf(int rank) const {
    return *reinterpret_cast<BufferExchange*>(base_ + SegmentShape::kBufferExchangeOffset +
                                              rank * sizeof(BufferExchange));
  }
  uint8_t* block(int peer, int channel) const { return base_ + shape_.blockOffset(peer, channel); }
  // Returns where `peer` writes its messages to the owner of this segment.
  uint8_t* inbox(int peer) const { return base_ + shape_.inboxOffset(peer); }
  // Returns the eventcount of the owner's threads that wait for messages.
  EventCount& inboxEvents() const { return *reinterpret_cast<EventCount*>(base_ + shape_.inboxEventsOffset()); }

  void writeHeader(int rank, const uint64_t token[2]) const {
    SegmentHeader& h = header();
    h.version = SegmentHeader::kVersion;
    h.rank = static_cast<uint32_t>(rank);
    h.size = shape_.size;
    h.channels = shape_.channels;
    h.slotBytes[0] = shape_.connection.simpleSlotBytes();
    h.slotBytes[1] = shape_.connection.llSlotBytes();
    h.slotBytes[2] = shape_.connection.ll128SlotBytes();
    h.rotates = shape_.rotates;
    h.token[0] = token[0];
    h.token[1] = token[1];
    h.bytes = shape_.bytes();
    h.magic = SegmentHeader::kMagic;
  }

  // Checks that this is the segment of `rank` in the communicator `token`, and has the layout of this rank's own
  // segment.
  Status verify(int rank, const uint64_t token[2]) const {
    const SegmentHeader& h = header();
    const auto wrong = [&](const char* name, uint64_t found, uint64_t expected) {
      return Status::transport(
          "segment of rank=" + std::to_string(rank) + " has " + name + "=" + std::to_string(found) + ", expected " +
          std::to_string(expected) +
          "; all ranks must run the same library with the same JCCL_*BUFFSIZE settings and count the same cores");
    };
    if (h.magic != SegmentHeader::kMagic) return wrong("magic", h.magic, SegmentHeader::kMagic);
    if (h.version != SegmentHeader::kVersion) return wrong("version", h.version, SegmentHeader::kVersion);
    if (h.rank != static_cast<uint32_t>(rank)) return wrong("rank", h.rank, rank);
    if (h.size != shape_.size) return wrong("size", h.size, shape_.size);
    if (h.channels != shape_.channels) return wrong("channels", h.channels, shape_.channels);
    const ConnectionShape& c = shape_.connection;
    if (h.slotBytes[0] != c.simpleSlotBytes()) return wrong("simpleSlotBytes", h.slotBytes[0], c.simpleSlotBytes());
    if (h.slotBytes[1] != c.llSlotBytes()) return wrong("llSlotBytes", h.slotBytes[1], c.llSlotBytes());
    if (h.slotBytes[2] != c.ll128SlotBytes()) return wrong("ll128SlotBytes", h.slotBytes[2], c.ll128SlotBytes());
    if (h.rotates != shape_.rotates) return wrong("rotates", h.rotates, shape_.rotates);
    if (h.token[0] != token[0] || h.token[1] != token[1]) return wrong("token", h.token[0], token[0]);
    return Status::ok();
  }

 private:
  uint8_t* base_ = nullptr;
  SegmentShape shape_;
};

}  // namespace jccl
