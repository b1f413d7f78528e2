// The ends of connections that a block uses: copied from device memory to shared memory when an operation begins. Their
// counters are written back when it ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/primitives/link_end.h"
#include "cuda/primitives/wait.h"
#include "primitives/layout.h"

namespace jccl::device {

// The first word of a SIMPLE slot's header between two kernels. It combines the published step and the check word, so
// that one access writes both and one load finds both. With a proxy at the other end they are separate words, as in
// layout.h. The 40 bits of the step wrap after days. An old slot could be mistaken for a new one only if it carried no
// SIMPLE chunk in all that time.
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

// An end of a connection while a block uses it.
struct ActiveLink {
  uint8_t* block;
  uint8_t* slots;
  uint64_t* head;
  uint64_t step;      // written by the thread that waits for this link
  uint64_t postStep;  // equals `step`; written by the thread that publishes for this link
  uint64_t cachedHead;
  int32_t peer;
  TransportKind transport;
  bool rotates;
  bool compact;

  // Reads this block's end of the connection with peer `which`; `ends` is indexed by peer.
  JCCL_DEVICE void open(LinkEnd* ends, int which) {
    LinkEnd* end = ends + which;
    block = end->block;
    slots = end->slots;
    head = end->head;
    // Relaxed, not plain: another thread may have written these counters after the previous operation.
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
  // Returns true if a network is between the ends. One comparison suffices, because an open link has a transport.
  JCCL_DEVICE bool hasProxy() const { return transport >= TransportKind::Plugin; }
  // Returns true if the step's SIMPLE slot is published. Then sets `matches`: whether the slot's check word is `check`.
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
  // Offset in a slot's header of the address of data that the slot does not contain: see exchange_kernel.h.
  static constexpr size_t kReference = 8;
  // Returns true if the word of a published slot says that the slot has an address.
  JCCL_DEVICE bool refers(const uint8_t* header, uint32_t check) const {
    return !hasProxy() && SlotWord::has(simt::loadRelaxed(reinterpret_cast<const uint64_t*>(header)), check);
  }
  JCCL_DEVICE WaitPlace place(WaitFor waitFor, Protocol protocol, uint64_t at) const {
    return {peer, transport, waitFor, protocol, at};
  }
};

// Where a step's chunk is on one link. The thread that waits for the link writes this; after the barrier all threads
// read it.
struct SlotChunk {
  uint8_t* at;  // the slot; for SIMPLE the chunk in the slot
  uint64_t step;
};

// Number of 8-byte words of shared memory in which each warp shifts unaligned data for LL128.
constexpr unsigned kStagingWords = 66;

struct BlockState {
  WaitControl wait;
  uint64_t* staging;  // LL128: kStagingWords for each warp
  ActiveLink sends[kMaxLinks];
  ActiveLink recvs[kMaxLinks];
  SlotChunk received[kMaxLinks];
  SlotChunk sent[kMaxLinks];
  // SIMPLE: all buffers that a step reads and writes, including the rank's own.
  const uint8_t* sources[kMaxLinks + 1];
  uint8_t* destinations[kMaxLinks + 1];
};

// The links that a call of the primitives uses, in the order of the schedule.
struct LinkRange {
  int firstRecv;
  int recvCount;
  int firstSend;
  int sendCount;
  int ownPosition;  // number of received chunks that are reduced before the rank's own input
};

}  // namespace jccl::device
