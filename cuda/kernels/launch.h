// The launch descriptor: all arguments of a kernel, in plain structs that host and device share.
//
// Device memory has two kinds of content. The plan of a channel is constant. The ends of its connections and its count
// of operations belong to the kernels, which are ordered by one stream and advance them: a captured graph can be replayed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/primitives/link_end.h"
#include "cuda/primitives/progress_record.h"
#include "engine/operation.h"
#include "primitives/control_words.h"
#include "primitives/layout.h"

namespace jccl::device {

constexpr int kMaxTreeLinks = 3;

// A rank's part in one channel; a grid has a block per channel.
struct DeviceChannel {
  LinkEnd* sends;            // by peer, and to a network that reduces
  LinkEnd* recvs;            // likewise
  const int32_t* ringOrder;  // [i]: the rank i places after this one
  int32_t ringPosition;      // of this rank, counted from rank 0 along the ring
  int32_t treeUp;            // -1: root
  int32_t treeDown[kMaxTreeLinks];
  int32_t treeChildren;
  // Towards a network that reduces, in the chain of a host and in its tree: of the leader the end behind those of all ranks, which
  // is the network. And away from it; the chain's is -1 where nobody is there.
  int32_t chainUp;
  int32_t chainDown;
  int32_t hostTreeUp;
  int32_t hostTreeDown[kMaxTreeLinks];
  int32_t hostTreeChildren;
  int32_t chainRanks;   // of all-gathers and reduce-scatters: this one and those below it
  int32_t chainPlace;   // of this one among them, by their numbers
  int32_t leaderAfter;  // of a leader: with whom it compares operations
  int32_t leaderBefore;
  uint64_t operations;     // how many collectives this channel has run; the same on all ranks
  ProgressRecord* record;  // mapped host memory
};

// What bounds the waits of a launch.
struct LaunchControl {
  ChannelControls controls;  // of all channels, also those that the launch does not use
  uint64_t timeoutNanos;     // 0: for ever
  uint64_t sequence;         // of the operation, or the launch's first; for the progress records
};

// What a launch needs beside the plain members of its descriptor: its pointers to such arguments are places in here where it
// fits, so that nothing else has to live as long as the launch, or as a graph that has it. Else they point to pinned memory.
struct InlineArguments {
  static constexpr size_t kBytes = 2048;

  alignas(16) unsigned char bytes[kBytes];

  // What stands for a pointer to bytes + offset, wherever the descriptor is.
  template <class T>
  static T* place(size_t offset) {
    return reinterpret_cast<T*>(offset + 1);
  }
};

struct InPlacePeer;

// One collective of a launch.
struct Work {
  OperationCode code;
  Choice choice;
  const uint8_t* send;
  uint8_t* recv;
  size_t count;  // in the units of the collective
  int32_t root;
  uint32_t unreachable;  // in place: whether a peer cannot reach one of the buffers
  // The v-forms, by rank, in device memory; null for equal parts. `fingerprint` mixes them.
  const int64_t* counts;
  const int64_t* displacements;
  uint64_t fingerprint;
  const InPlacePeer* peers;  // by rank, in device memory; only where ranks work on each other's buffers
};

// The works of a launch: the first is the descriptor itself. A block takes part in those of more than its number of channels,
// one after the other; they are numbered from control.sequence on.
struct Works : Work {
  const Work* more;  // in device memory
  uint32_t moreCount;
  uint32_t blocks;  // of the grid: the maximum number of channels
};

struct Launch : Works {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  ConnectionShape shape;
  LaunchControl control;
  InlineArguments inlined;
};

// The buffer-exchange descriptor of operations over each other's buffers; in the reader's memory, one per channel and
// rank.
struct alignas(128) ExchangeDescriptor {
  uint64_t posted;      // of the operation; written last
  uint64_t send, recv;  // the writer's buffers in the reader's address space
  uint64_t fingerprint;
  uint64_t traits;                // of the writer's buffers: kOverwrites, kUnreachable
  alignas(64) uint64_t finished;  // the operation and the step in it up to which the writer has come

  static constexpr uint64_t kOverwrites = 1;   // the receive buffer is the send buffer
  static constexpr uint64_t kUnreachable = 2;  // a peer cannot reach one of them
};

// What a channel of a rank copies its data to where peers cannot reach its buffers; see in_place_kernel.h.
constexpr size_t kBounceBytes = 128 * 1024;

struct InPlacePeer {
  ExchangeDescriptor* descriptors;  // the peer's, in our address space: channel x size + rank of the writer
  uint64_t sendThere;               // where our buffers are in the peer's address space
  uint64_t recvThere;
};

// All-reduce, all-gather and reduce-scatter among ranks that reach each other's buffers.
struct InPlaceLaunch : Works {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  LaunchControl control;
  ExchangeDescriptor* descriptors;  // our own: channel x size + rank of the writer
  uint64_t bounceOffset;            // from a rank's descriptors to its bounce buffers, one for each channel
  InlineArguments inlined;
};

// What a channel has in the memory that each rank binds to a multicast object; zero at first.
struct MulticastChannel {
  static constexpr int kMaxRanks = kMaxLinks + 1;
  static constexpr int kSlots = 3;
  enum Phase : int { kFilled = 0, kDone = 1 };

  alignas(128) uint64_t uses;                         // of slots, so far; the rank's own
  alignas(128) uint64_t prints[kMaxRanks];            // by rank: what it executes
  alignas(128) uint64_t flags[kSlots][2][kMaxRanks];  // by slot, phase and rank: how often the rank has come there
};

// All-reduce, all-gather and reduce-scatter through a multicast object.
struct NvlsLaunch : Works {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  LaunchControl control;
  uint8_t* memory;     // this rank's: a MulticastChannel for each channel, then their slots
  uint8_t* multicast;  // the same in the memory of all ranks
  uint32_t channelCount;
  uint32_t slotBytes;
  InlineArguments inlined;

  static constexpr size_t memoryBytes(int channels, uint32_t slotBytes) {
    return static_cast<size_t>(channels) * (sizeof(MulticastChannel) + MulticastChannel::kSlots * size_t{slotBytes});
  }
};

// One message of a group of sends and receives, or a copy within the rank.
struct ExchangeTask {
  enum class Kind : uint8_t { Send = 0, Recv = 1, Copy = 2 };

  Kind kind;
  int32_t peer;
  uint8_t* address;  // only read for a send or a copy
  uint8_t* copyTo;   // of a copy
  size_t bytes;
  uint32_t fingerprint;     // both ends must agree on it
  uint16_t collective = 0;  // which of the launch's it belongs to, from 1; 0: a message of its own
  // By how many channels it goes, of so many that have a connection with the peer: both ends know that from its bytes. They are
  // adjacent, and begin elsewhere for each pair of ranks, so that small messages do not all go by the same.
  uint8_t channels = 1;
  uint8_t connected = 1;

  // The message is cut for so many channels; this one has the part with this index, or one of `channels` or more has none.
  JCCL_FN uint32_t partOf(uint32_t channel, int rank) const {
    if (channel >= connected) return channels;
    const uint32_t first = static_cast<uint32_t>(rank + peer) % connected;
    return (channel + connected - first) % connected;
  }
};

// From here on a message takes a further channel.
constexpr size_t kBytesPerChannel = 32 * 1024;

// Connections that only exchanges use have slots of one chunk, and none for LL and LL128.
constexpr uint32_t kMaxChunkBytes = 64 * 1024;
JCCL_FN inline ConnectionShape compactShape(const ConnectionShape& shape) {
  const uint32_t slot = shape.simpleSlotBytes() < kMaxChunkBytes ? shape.simpleSlotBytes() : kMaxChunkBytes;
  return ConnectionShape(slot, 0, 0);
}

// Tasks to one peer, or from one, in their order.
struct ExchangeQueue {
  uint32_t first;
  uint32_t count;
};

struct ExchangeLaunch {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  int32_t channelCount;
  ConnectionShape shape;
  ConnectionShape compact;
  LaunchControl control;
  uint32_t
      collectives;  // in which all ranks take part: their tasks' fingerprints mix the channel's count of operations
  const ExchangeTask* tasks;  // in device memory; tasks of a queue are adjacent, copies come last
  const ExchangeQueue* queues;
  uint32_t queueCount;
  uint32_t firstCopy;
  uint32_t taskCount;
  InlineArguments inlined;
};

// What all drivers pass to a kernel.
constexpr size_t kMaxParameterBytes = 4096;
static_assert(sizeof(Launch) <= kMaxParameterBytes && sizeof(InPlaceLaunch) <= kMaxParameterBytes &&
              sizeof(NvlsLaunch) <= kMaxParameterBytes && sizeof(ExchangeLaunch) <= kMaxParameterBytes);

}  // namespace jccl::device
