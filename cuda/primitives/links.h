// The ends of the connections that a block works on, while it does: in shared memory, read from the descriptor when the
// kernel begins, and their counters written back when it ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/primitives/link_end.h"
#include "cuda/primitives/wait.h"
#include "primitives/layout.h"

namespace jccl::device {

// The first word of a SIMPLE slot's header between two kernels: the published step and the check word in one, so that one
// access writes both and one load finds both. Where a proxy is at the other end they are apart, as layout.h has them. 40 bits
// of steps come round after days, and only a slot without SIMPLE in all that time could then be mistaken.
struct SlotWord {
  static constexpr int kStepBits = 40;

  JCCL_DEVICE static uint64_t of(uint64_t step, uint32_t check) {
    return (uint64_t{check} << kStepBits) | ((step + 1) & kSteps);
  }
  JCCL_DEVICE static bool isOf(uint64_t word, uint64_t step) { return ((word ^ (step + 1)) & kSteps) == 0; }
  JCCL_DEVICE static bool has(uint64_t word, uint32_t check) { return ((word >> kStepBits ^ check) & kChecks) == 0; }

 private:
  static constexpr uint64_t kSteps = (uint64_t{1} << kStepBits) - 1;
  static constexpr uint64_t kChecks = (uint64_t{1} << (64 - kStepBits)) - 1;
};

// An end of a connection while a block works with it.
struct ActiveLink {
  uint8_t* block;
  uint8_t* slots;
  uint64_t* head;
  uint64_t step;      // of the thread that waits for this link
  uint64_t postStep;  // the same, of the thread that publishes for it
  uint64_t cachedHead;
  int32_t peer;
  TransportKind transport;
  bool rotates;
  bool compact;

  // Of the ends of a channel, indexed by peer.
  JCCL_DEVICE void open(LinkEnd* ends, int which) {
    LinkEnd* end = ends + which;
    block = end->block;
    slots = end->slots;
    head = end->head;
    // The work before this one may have moved them, by other threads.
    step = postStep = simt::loadRelaxed(&end->step);
    cachedHead = simt::loadRelaxed(&end->cachedHead);
    peer = which;
    transport = end->transport;
    rotates = end->rotates;
    compact = end->compact;
  }
  JCCL_DEVICE void close(LinkEnd* ends) const {
    simt::storeRelaxed(&ends[peer].step, step);
    simt::storeRelaxed(&ends[peer].cachedHead, cachedHead);
  }
  JCCL_DEVICE bool hasProxy() const { return isNetwork(transport); }
  // Whether the step's SIMPLE slot is published, and if so, whether for an operation with this check word.
  JCCL_DEVICE bool isPublished(const uint8_t* header, uint32_t check, bool& matches) const {
    const uint64_t word = simt::loadAcquire(reinterpret_cast<const uint64_t*>(header));
    if (!hasProxy()) {
      matches = SlotWord::has(word, check);
      return SlotWord::isOf(word, step);
    }
    if (word != step + 1) return false;
    matches = simt::loadPeer<4>(header + offsetof(SlotHeader, check)) == check;
    return true;
  }
  JCCL_DEVICE WaitPlace place(WaitFor waitFor, Protocol protocol, uint64_t at) const {
    return {peer, transport, waitFor, protocol, at};
  }
};

// What one step moves, by link: written by the threads that wait for the links, read by all after they have met.
struct SlotChunk {
  uint8_t* at;  // the slot; for SIMPLE the chunk in it
  uint64_t step;
};

// The warp's own part of shared memory, with which LL128 shifts what is not aligned: so many words of 8 bytes.
constexpr unsigned kStagingWords = 66;

struct BlockState {
  WaitControl wait;
  uint64_t* staging;  // LL128: for each warp
  ActiveLink sends[kMaxLinks];
  ActiveLink recvs[kMaxLinks];
  SlotChunk received[kMaxLinks];
  SlotChunk sent[kMaxLinks];
  // SIMPLE: all that a step reads and writes, own buffers included.
  const uint8_t* sources[kMaxLinks + 1];
  uint8_t* destinations[kMaxLinks + 1];
};

// Which of them an operation joins, in the order of its schedule.
struct LinkRange {
  int firstRecv;
  int recvCount;
  int firstSend;
  int sendCount;
  int ownPosition;  // how many received chunks come before the own input when they are reduced
};

}  // namespace jccl::device
