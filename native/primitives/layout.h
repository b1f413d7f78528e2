// The memory of a connection: what sender and receiver, in one process, in two, or with a network between, agree on.
//
// A connection leads from one rank to another on one channel. It has 8 slots, used by step number, one after the other:
//
//     step   64 bit, counts up for ever, never reset; slot = step mod 8
//     head   how many steps the receiver has freed; the sender may write step s only while s < head + 8
//
// Ring, tree, direct and point-to-point operations share the steps, whatever protocol each uses; both ends run the same
// number of steps per operation, also for empty chunks.
//
// Every rank keeps a block per (peer, channel). It holds the slots of the connection FROM the peer, and the head line of
// the connection TO the peer (written by that peer, read here):
//
//     offset 0        head line: u64 head, of the outgoing connection                     64 bytes, padded to 128
//     offset 128 + 8  8 x LL slot:      llSlotBytes     + skew
//                     8 x LL128 slot:   ll128SlotBytes  + skew
//                     8 x SIMPLE slot:  header (128) + simpleSlotBytes + skew
//
// The skew keeps equal parts of the slots out of the same cache sets (slot sizes are powers of two).
//
// SIMPLE slot header, one 64-byte line padded to 128. `published` is written last, with release:
//
//     0                8           12          16       17     18     19
//     +----------------+-----------+-----------+--------+------+------+------------------+
//     | published u64  | check u32 | bytes u32 | proto  | type | op   | unused           |
//     | = step + 1     |           |           | u8     | u8   | u8   |                  |
//     +----------------+-----------+-----------+--------+------+------+------------------+
//
// Type and reduction are for a network that reduces; only kernels of GPUs write them, behind a proxy.
//
// Between two kernels of GPUs only the first word is used, for step and check word: see cuda/primitives/links.h.
//
// LL slot: 8-byte cells, each stored and loaded as one 64-bit value. Cell 0 contains the check word:
//
//     | check u32 | flag u32 | payload u32 | flag u32 | payload u32 | flag u32 | ...        flag = low 32 bits of step + 1
//
// LL128 slot: lines of 128 bytes, 120 of payload, then a 64-bit flag = step + 1 stored last, with release. The first 8
// payload bytes of the slot's first line are {check u32, 0}:
//
//     | check u32 | 0 u32 | payload 112 ............ | flag u64 |
//     | payload 120 ................................ | flag u64 | ...
//
// check = checkWord(operation fingerprint, payload bytes of the slot): a receiver that expects another word has found a
// peer in another operation, or in the same with another count, type, root...
//
// Networks: the sender writes into a local block that a send proxy drains, and the proxy frees slots by head. At the other end
// the receive proxy writes the slot, data and header with published last. Host ranks use SIMPLE slots there, whatever protocol
// they speak elsewhere. Kernels of GPUs write and poll slots of every protocol; they then also fill the slot's SIMPLE header:
// bytes = wire bytes from the start of the slot's data (LL: whole cells; LL128: whole lines; SIMPLE: the payload), proto,
// check, then published. The receive proxy writes LL cells by 8-byte stores, and LL128 lines flag last.
//
// A SIMPLE payload may be user memory at either end (zero-copy): a ZeroCopySlot beside the block says so. Over verbs an
// adapter of another host writes the block; no adapter and no other process reaches what names memory of this one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/function.h"

namespace jccl {

inline constexpr uint32_t kSlots = 8;
inline constexpr uint32_t kLineBytes = 64;

inline constexpr uint32_t kLLCellBytes = 8;
inline constexpr uint32_t kLLPayloadBytes = 4;

inline constexpr uint32_t kLL128LineBytes = 128;
inline constexpr uint32_t kLL128PayloadBytes = 120;
inline constexpr uint32_t kLL128HeaderBytes = 8;  // of the first line's payload

inline constexpr uint32_t kSimpleHeaderBytes = 128;
// Behind the data of a SIMPLE slot: a skew, so that slots do not compete for the same lines of the cache. A network may use it.
inline constexpr uint32_t kSlotTailBytes = 1024;
// Smaller chunks are always at the begin of their slot; see ConnectionMemory::simpleChunk.
inline constexpr uint32_t kRotatingBytes = 4096;

// The same numbers as io.jccl's protocol choice.
enum class Protocol : uint8_t { LL = 0, LL128 = 1, Simple = 2 };

struct alignas(64) SlotHeader {
  std::atomic<uint64_t> published;  // step + 1
  uint32_t check;
  uint32_t bytes;
  uint8_t protocol;
  uint8_t collective, type, op;  // for a network that reduces: OperationCode
};
static_assert(sizeof(SlotHeader) == 64);
static_assert(offsetof(SlotHeader, check) == 8 && offsetof(SlotHeader, bytes) == 12 &&
              offsetof(SlotHeader, protocol) == 16 && offsetof(SlotHeader, collective) == 17 &&
              offsetof(SlotHeader, type) == 18 && offsetof(SlotHeader, op) == 19);

struct alignas(64) HeadLine {
  std::atomic<uint64_t> head;
};
static_assert(sizeof(HeadLine) == 64);

// Spreads the operation's fingerprint and the bytes of a slot over 32 bits.
JCCL_FN inline uint32_t checkWord(uint32_t fingerprint, uint32_t bytes) {
  uint32_t x = fingerprint ^ (bytes * 0x9e3779b1u);
  x ^= x >> 15;
  x *= 0x85ebca6bu;
  return x ^ (x >> 13);
}

// How wide the flags of LL cells are. Narrower than 32 bits only in tests, where the wrap must be reached.
template <int FlagBits>
struct LLFlags {
  static_assert(FlagBits >= 5 && FlagBits <= 32);
  static constexpr uint64_t kMask = (uint64_t{1} << FlagBits) - 1;
  static constexpr uint64_t kHalf = uint64_t{1} << (FlagBits - 1);

  JCCL_FN static uint32_t flagOf(uint64_t step) { return static_cast<uint32_t>((step + 1) & kMask); }

  // A slot contains only flags congruent to its number + 1 modulo 8, so this one is never waited for in this slot.
  JCCL_FN static uint32_t neverFlagOf(uint64_t step) { return static_cast<uint32_t>((step + 1 + kSlots / 2) & kMask); }

  // A cell that no message has reached for a whole cycle of the flag would count as current. Twice per cycle, therefore,
  // the rest of every slot is overwritten by what fills it: the sender, or behind a network the receive proxy.
  JCCL_FN static bool mustScrub(uint64_t step) {
    return __builtin_expect((step & (kHalf - 1)) < kSlots, 0) && step >= kHalf;
  }
};

// Slot sizes, the same on all ranks of a communicator, and the offsets that follow from them.
class ConnectionShape {
 public:
  ConnectionShape() = default;
  JCCL_FN ConnectionShape(uint32_t simpleSlotBytes, uint32_t llSlotBytes, uint32_t ll128SlotBytes)
      : simpleSlotBytes_(roundUp(simpleSlotBytes, 128)),
        llSlotBytes_(roundUp(llSlotBytes, 128)),
        ll128SlotBytes_(roundUp(ll128SlotBytes, 128)) {}

  JCCL_FN uint32_t simpleSlotBytes() const { return simpleSlotBytes_; }
  JCCL_FN uint32_t llSlotBytes() const { return llSlotBytes_; }
  JCCL_FN uint32_t ll128SlotBytes() const { return ll128SlotBytes_; }

  // How much user data a slot takes.
  JCCL_FN uint32_t payloadCapacity(Protocol protocol) const {
    switch (protocol) {
      case Protocol::LL:
        return (llSlotBytes_ / kLLCellBytes - 1) * kLLPayloadBytes;
      case Protocol::LL128:
        return ll128SlotBytes_ / kLL128LineBytes * kLL128PayloadBytes - kLL128HeaderBytes;
      case Protocol::Simple:
        break;
    }
    return simpleSlotBytes_;
  }

  JCCL_FN size_t headOffset() const { return 0; }
  // Half a pair before a boundary: behind the check word's cell, two cells are one aligned access.
  JCCL_FN size_t llOffset() const { return 128 + kLLCellBytes; }
  JCCL_FN size_t llStride() const { return llSlotBytes_ + 128; }
  JCCL_FN size_t ll128Offset() const { return 128 + kSlots * llStride() + 128; }
  JCCL_FN size_t ll128Stride() const { return ll128SlotBytes_ + 256; }
  // Page-aligned, so that a connection that never uses SIMPLE leaves its pages untouched.
  JCCL_FN size_t simpleOffset() const { return roundUp(ll128Offset() + kSlots * ll128Stride(), 4096); }
  JCCL_FN size_t simpleStride() const { return kSimpleHeaderBytes + simpleSlotBytes_ + kSlotTailBytes; }
  JCCL_FN size_t blockBytes() const { return roundUp(simpleOffset() + kSlots * simpleStride(), 4096); }

  // Where the slot of a step is in the block: cells, lines, and for SIMPLE the header.
  JCCL_FN size_t llSlot(uint64_t step) const { return llOffset() + (step % kSlots) * llStride(); }
  JCCL_FN size_t ll128Slot(uint64_t step) const { return ll128Offset() + (step % kSlots) * ll128Stride(); }
  JCCL_FN size_t slotHeader(uint64_t step) const { return simpleOffset() + (step % kSlots) * simpleStride(); }
  // Where a SIMPLE chunk of so many bytes is; both ends know its size. Behind a network always at the begin of the
  // slot. Elsewhere chunks smaller than the slot alternate between its parts: a line that was not used for a while has
  // left the reader's own cache, and the writer gets it several times faster from the shared one. For that a slot is
  // larger than a step.
  JCCL_FN size_t simpleChunk(uint64_t step, uint32_t bytes, bool rotates) const {
    const size_t slot = slotHeader(step) + kSimpleHeaderBytes;
    if (!rotates || bytes < kRotatingBytes) return slot;
    const uint32_t part = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    const uint32_t parts = simpleSlotBytes_ / part;
    return parts <= 1 ? slot : slot + step / kSlots % parts * part;
  }
  // The same counted from the first slot on: the data of SIMPLE slots may be in memory of its own, with the layout of
  // this part of the block, whose headers are unused there.
  JCCL_FN size_t simpleChunkInSlots(uint64_t step, uint32_t bytes, bool rotates) const {
    return simpleChunk(step, bytes, rotates) - simpleOffset();
  }
  JCCL_FN size_t simpleSlotsBytes() const { return roundUp(kSlots * simpleStride(), 4096); }

 private:
  JCCL_FN static constexpr size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

  uint32_t simpleSlotBytes_ = 0;
  uint32_t llSlotBytes_ = 0;
  uint32_t ll128SlotBytes_ = 0;
};

}  // namespace jccl
