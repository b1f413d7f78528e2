// The launch descriptor: all arguments of a kernel, in plain structs that host and device share.
//
// Device memory has two kinds of content. The plan of a channel is constant. The ends of its connections and its count
// of operations belong to the kernels, which advance them; kernels of one communicator run one after another. So a
// captured graph can be replayed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/primitives/link_end.h"
#include "cuda/primitives/progress_record.h"
#include "engine/operation.h"
#include "primitives/control_words.h"
#include "primitives/exchange_shape.h"
#include "primitives/layout.h"

namespace jccl::device {

constexpr int kMaxTreeLinks = 3;

// A rank's part in one channel; a grid has one block per channel.
struct DeviceChannel {
  LinkEnd* sends;            // by peer; the end after those of all ranks is for an added algorithm
  LinkEnd* recvs;            // indexed like `sends`
  const int32_t* ringOrder;  // ringOrder[i]: the rank i places after this one
  int32_t ringPosition;      // place of this rank on the ring, counted from rank 0
  int32_t treeUp;            // -1: this rank is the tree's root
  int32_t treeDown[kMaxTreeLinks];
  int32_t treeChildren;
  uint64_t operations;     // number of collectives that this channel has run; equal on all ranks
  ProgressRecord* record;  // mapped host memory
  uint32_t arrivals;       // in channel 0: see endBlock()
  uint64_t copied;         // control.sequence of a launch whose data copy engines have moved: see meet_kernel.h
};

// The report of a communicator's kernels to the host, in memory that the host maps. One launch writes it at a time,
// because the launches of a communicator follow one another. Java reads it, too.
struct alignas(128) LaunchReport {
  // Number of the last operation that has ended, well or not. Written last: whoever has read it sees everything that
  // the kernel wrote. Replays of graphs leave it unchanged.
  uint64_t ended;
  uint64_t failed;  // number of the first operation of the first launch that failed; 0: none
};

// Limits of the waits of a launch, and the report of its end.
struct LaunchControl {
  ChannelControls controls;  // of all channels of the communicator
  uint64_t timeoutNanos;     // of each operation; 0: no limit
  uint64_t sequence;         // number of the launch's first operation, for the progress records
  uint64_t last;             // number of the launch's last operation; 0 if the launch is captured for a graph
  LaunchReport* report;
};

// The arguments of a launch that are not plain members of its descriptor. If all of them fit into `bytes`, the
// descriptor's pointers stand for places in `bytes`, so no other memory must outlive the launch or a graph that
// contains it. Otherwise the pointers are addresses of pinned memory.
struct InlineArguments {
  static constexpr size_t kBytes = 2048;

  alignas(16) unsigned char bytes[kBytes];

  // Returns a value that stands for a pointer to bytes + offset, wherever the descriptor is.
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
  uint32_t unreachable;  // for operations in place: 1 if a peer cannot reach one of this rank's buffers
  // For operations in place: denotes the symmetric windows and the offsets in them that this rank uses. If it is equal
  // on all ranks, the ranks know the addresses of each other's buffers: InPlacePeer::sendHere and recvHere.
  uint32_t windows;
  static constexpr uint32_t kNoWindows = 0;    // the communicator has no symmetric windows; equal on all ranks
  static constexpr uint32_t kOtherMemory = 1;  // this rank uses other memory
  // For v-forms: counts and displacements by rank, placed as InlineArguments says; null for equal parts. `fingerprint`
  // covers them.
  const int64_t* counts;
  const int64_t* displacements;
  uint64_t fingerprint;
  const InPlacePeer* peers;  // by rank, placed as InlineArguments says; only for operations in place
};

// The works of a launch; the first is the descriptor itself. A block executes, one after the other, the works whose
// number of channels is above the block's index. The works are operations with consecutive numbers from
// control.sequence on.
struct Works : Work {
  const Work* more;  // works after the first; placed as InlineArguments says
  uint32_t moreCount;
  uint32_t blocks;  // blocks of the grid: the largest number of channels of a work
};

struct Launch : Works {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  ConnectionShape shape;
  LaunchControl control;
  InlineArguments inlined;
};

// The buffer-exchange descriptor for operations in place. It is in the reader's memory, one per channel and writer.
struct alignas(128) ExchangeDescriptor {
  // Two cells of the LL protocol: Work::windows, and half of the operation's fingerprint. Their flags are the lower half
  // of the number of the operation.
  uint64_t greeting[2];
  uint64_t posted;      // number of the operation, written after the members below except `finished`
  uint64_t send, recv;  // the writer's buffers in the reader's address space
  uint64_t fingerprint;
  uint64_t traits;                // properties of the writer's buffers: kOverwrites, kUnreachable
  alignas(64) uint64_t finished;  // operation and step that the writer has reached
  // Two cells like those of the greeting, for meetings before copies: the place, and half of the fingerprint. A peer may
  // already greet for the kernel behind the copies while this rank still waits for the meeting.
  alignas(16) uint64_t meeting[2];

  static constexpr uint64_t kOverwrites = 1;   // the receive buffer is the send buffer
  static constexpr uint64_t kUnreachable = 2;  // a peer cannot reach one of the writer's buffers
  // `finished` contains the operation's number, followed by kStepBits bits with the step. The last step, kLastStep, is
  // the end of the operation.
  static constexpr int kStepBits = 24;
  static constexpr uint64_t kLastStep = (uint64_t{1} << kStepBits) - 1;
};

// Size of a channel's bounce buffer, through which data goes if peers cannot reach the buffers; see in_place_kernel.h.
constexpr size_t kBounceBytes = 128 * 1024;

struct InPlacePeer {
  ExchangeDescriptor* descriptors;  // in the peer's segment, in our address space: channel x size + rank of the writer
  uint64_t sendThere;               // addresses of this rank's buffers in the peer's process
  uint64_t recvThere;
  uint64_t sendHere;  // if this rank uses windows: addresses of the peer's buffers in our address space
  uint64_t recvHere;
};

// The most bytes for which an all-reduce in place is one-shot, however fast the links between the GPUs are.
constexpr uint64_t kMaxOneShotBytes = 256 * 1024;

// Launch of all-reduces, all-gathers and reduce-scatters of ranks that reach each other's buffers.
struct InPlaceLaunch : Works {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  LaunchControl control;
  ExchangeDescriptor* descriptors;  // in this rank's segment: channel x size + rank of the writer
  uint64_t bounceOffset;            // distance from a rank's descriptors to its bounce buffers, one for each channel
  uint64_t oneShotBytes;            // the most bytes for which an all-reduce is one-shot; equal on all ranks
  InlineArguments inlined;
};

// Launch of a meeting of all ranks: before or after copies by copy engines.
struct MeetLaunch {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  LaunchControl control;
  ExchangeDescriptor* descriptors;           // as in InPlaceLaunch
  ExchangeDescriptor* peers[kMaxLinks + 1];  // by rank: the peer's descriptors, in our address space
  uint64_t fingerprint;                      // of the operation, without its number
  uint32_t place;                            // denotes the place of the input in a window, as Work::windows does
  uint32_t afterCopies;                      // 0: the ranks meet before the copies
};

// One message of a group of sends and receives, or a copy within the rank.
struct ExchangeTask {
  enum class Kind : uint8_t { Send = 0, Recv = 1, Copy = 2 };

  Kind kind;
  int32_t peer;
  uint8_t* address;  // the rank's own buffer; for a copy, the source
  // For a copy, the destination. For a send that the receiver reads: the address of the rank's buffer in the receiver's
  // process. Null for all other messages, which go through slots.
  uint8_t* other;
  size_t bytes;
  uint32_t fingerprint;  // must be equal at both ends
  // The index, counted from 1, of the launch's collective to which the task belongs; 0: the task is a message of its
  // own.
  uint16_t collective = 0;
  // The message uses `channels` of the `connected` channels that have a connection with the peer; both ends derive the
  // number from its bytes. The channels are adjacent. Their first differs by pair of ranks, so that small messages do
  // not all use the same channel.
  uint8_t channels = 1;
  uint8_t connected = 1;

  // Returns the index of the part that this channel moves; `channels` or more if it moves none. The message is cut into
  // `channels` parts.
  JCCL_FN uint32_t partOf(uint32_t channel, int rank) const {
    if (channel >= connected) return channels;
    const uint32_t first = static_cast<uint32_t>(rank + peer) % connected;
    return (channel + connected - first) % connected;
  }
};

// A message uses one channel for each kBytesPerChannel full bytes of its size, but at least one and at most
// `connected`.
constexpr size_t kBytesPerChannel = 32 * 1024;

// Half a block loads such a chunk in four rounds, so that no round is partly empty: each thread has 8 loads of 16 bytes in
// flight.
static_assert(kMaxChunkBytes == 4 * (kMaxBlockThreads / 2) * 8 * 16);

// Tasks to one peer, or from one peer, in order.
struct ExchangeQueue {
  uint32_t first;
  uint32_t count;
  // Queues of one window run together. A rank can have more queues than a block holds; then it runs the windows one
  // after the other. The window of a queue follows from the distance between its ranks, so it is equal at both ends if
  // both run windows.
  uint32_t window;
};

struct ExchangeLaunch {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  int32_t channelCount;
  ConnectionShape shape;
  ConnectionShape compact;
  LaunchControl control;
  // Number of collectives in the launch. The kernel mixes DeviceChannel::operations, which is equal on all ranks, into
  // the fingerprints of their tasks.
  uint32_t collectives;
  const ExchangeTask* tasks;    // placed as InlineArguments says; tasks of a queue are adjacent, copies come last
  const ExchangeQueue* queues;  // placed like `tasks`; those that send come first
  uint32_t queueCount;
  uint32_t sendQueueCount;
  uint32_t firstCopy;
  uint32_t taskCount;
  InlineArguments inlined;
};

// Copies known content from and to peers. A copy has parts of kPartBytes, one for each type of access.
struct ProbeLaunch {
  static constexpr uint32_t kPartBytes = 1024;
  static constexpr uint32_t kBytes = 5 * kPartBytes;
  static constexpr uint32_t kMaxCopies = 128;
  struct Copy {
    const uint8_t* from;
    uint8_t* to;
  };

  int32_t rank;
  uint32_t blocks;
  uint32_t copyCount;
  Copy copies[kMaxCopies];
};

// The number of bytes of parameters that every driver can pass to a kernel.
constexpr size_t kMaxParameterBytes = 4096;
static_assert(sizeof(Launch) <= kMaxParameterBytes && sizeof(InPlaceLaunch) <= kMaxParameterBytes &&
              sizeof(ExchangeLaunch) <= kMaxParameterBytes && sizeof(ProbeLaunch) <= kMaxParameterBytes &&
              sizeof(MeetLaunch) <= kMaxParameterBytes);

}  // namespace jccl::device
