// The memory of a connection, on which sender and receiver agree: within a process, between processes and over a
// network.
//
// A connection leads from one rank to another on one channel. It has 8 slots, which the steps use in turn:
//
//     step   64 bits, counts up for ever, never reset; slot = step mod 8
//     head   number of steps that the receiver has freed; the sender may write step s only while s < head + 8
//
// Ring, tree, direct and point-to-point operations share the steps, whatever protocol each of them uses. Both ends run
// the same number of steps per operation, also for empty chunks.
//
// Every rank keeps a block per (peer, channel). The block holds the slots of the connection FROM the peer, and the head
// line of the connection TO the peer (written by that peer, read here):
//
//     offset 0        head line: u64 head, of the outgoing connection                     64 bytes, padded to 128
//     offset 128 + 8  8 x LL slot:      llSlotBytes     + skew
//                     8 x LL128 slot:   ll128SlotBytes  + skew
//                     8 x SIMPLE slot:  header (128) + simpleSlotBytes + skew
//
// The skew keeps equal parts of different slots out of the same cache sets (slot sizes are powers of two).
//
// SIMPLE slot header, one 64-byte line padded to 128. `published` is written last, with release:
//
//     0                8           12          16       17      18     19     20
//     +----------------+-----------+-----------+--------+-------+------+------+-----------+
//     | published u64  | check u32 | bytes u32 | proto  | coll  | type | op   | unused    |
//     | = step + 1     |           |           | u8     | u8    | u8   | u8   |           |
//     +----------------+-----------+-----------+--------+-------+------+------+-----------+
//
// Collective, type and reduction (op) are for a network that reduces. Only GPU kernels whose data a proxy sends write
// them.
//
// Two kernels use only the first word, for step and check word: see cuda/primitives/links.h.
//
// LL slot: 8-byte cells, each stored and loaded as one 64-bit value. Cell 0 contains the check word:
//
//     | check u32 | flag u32 | payload u32 | flag u32 | payload u32 | flag u32 | ...    flag = low 32 bits of step + 1
//
// LL128 slot: lines of 128 bytes, 120 of payload, then a 64-bit flag = step + 1 stored last, with release. The first 8
// payload bytes of the slot's first line are {check u32, 0}:
//
//     | check u32 | 0 u32 | payload 112 ............ | flag u64 |
//     | payload 120 ................................ | flag u64 | ...
//
// check = checkWord(operation fingerprint, payload bytes of the slot). A receiver that finds another word has detected
// a peer in another operation, or in the same operation with another count, type, root...
//
// Networks: the sender writes into a local block; a send proxy drains it and frees slots by head. At the other end, the
// receive proxy writes the slot, data and header, with published last. Host ranks use SIMPLE slots on network
// connections, whatever protocol they use elsewhere. GPU kernels write and poll slots of every protocol; on network
// connections they also fill the slot's SIMPLE header: bytes = wire bytes from the start of the slot's data (LL: whole
// cells; LL128: whole lines; SIMPLE: the payload), proto, check, then published. The receive proxy writes LL cells with
// 8-byte stores, and LL128 lines with the flag last.
//
// A SIMPLE payload may be user memory at either end (zero-copy), named by a ZeroCopySlot outside the block: over verbs,
// an adapter of another host writes the block, and neither adapters nor other processes may reach addresses of this
// process.
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
inline constexpr uint32_t kLL128HeaderBytes = 8;  // the check word and a zero, at the start of the first line's payload

inline constexpr uint32_t kSimpleHeaderBytes = 128;
// Space after the data of a SIMPLE slot: a skew, so that slots do not compete for the same cache lines. The `plugin`
// transport also uses it, for its trailer.
inline constexpr uint32_t kSlotTailBytes = 1024;
// Chunks below this size are always at the start of their slot; see ConnectionShape::simpleChunk.
inline constexpr uint32_t kRotatingBytes = 4096;

// The numbers are those of io.jccl.Protocol.
enum class Protocol : uint8_t { LL = 0, LL128 = 1, Simple = 2 };

struct alignas(64) SlotHeader {
  std::atomic<uint64_t> published;  // step + 1
  uint32_t check;
  uint32_t bytes;
  uint8_t protocol;
  uint8_t collective, type, op;  // the OperationCode, for a network that reduces
};
static_assert(sizeof(SlotHeader) == 64);
static_assert(offsetof(SlotHeader, check) == 8 && offsetof(SlotHeader, bytes) == 12 &&
              offsetof(SlotHeader, protocol) == 16 && offsetof(SlotHeader, collective) == 17 &&
              offsetof(SlotHeader, type) == 18 && offsetof(SlotHeader, op) == 19);

struct alignas(64) HeadLine {
  std::atomic<uint64_t> head;
};
static_assert(sizeof(HeadLine) == 64);

// Mixes the operation's fingerprint and the number of bytes in a slot into 32 bits.
JCCL_FN inline uint32_t checkWord(uint32_t fingerprint, uint32_t bytes) {
  uint32_t x = fingerprint ^ (bytes * 0x9e3779b1u);
  x ^= x >> 15;
  x *= 0x85ebca6bu;
  return x ^ (x >> 13);
}

// The flags of LL cells, FlagBits wide. Only tests use fewer than 32 bits, to make flags wrap.
template <int FlagBits>
struct LLFlags {
  static_assert(FlagBits >= 5 && FlagBits <= 32);
  static constexpr uint64_t kMask = (uint64_t{1} << FlagBits) - 1;
  static constexpr uint64_t kHalf = uint64_t{1} << (FlagBits - 1);

  JCCL_FN static uint32_t flagOf(uint64_t step) { return static_cast<uint32_t>((step + 1) & kMask); }

  // A flag that never becomes current in this slot: flags of a slot are congruent to its number + 1 modulo 8.
  JCCL_FN static uint32_t neverFlagOf(uint64_t step) { return static_cast<uint32_t>((step + 1 + kSlots / 2) & kMask); }

  // A cell that no message has reached for a whole cycle of the flag would seem current. Therefore, twice per cycle,
  // the rest of every slot is overwritten by its writer: the sender or, on a network connection, the receive proxy.
  JCCL_FN static bool mustScrub(uint64_t step) {
    return __builtin_expect((step & (kHalf - 1)) < kSlots, 0) && step >= kHalf;
  }
};

// Slot sizes, equal on all ranks of a communicator, and the offsets that follow from them.
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

  // Returns the bytes of user data that fit into a slot.
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
  // The check word's cell comes 8 bytes after a 16-byte boundary, so that each pair of cells after it is one aligned
  // access.
  JCCL_FN size_t llOffset() const { return 128 + kLLCellBytes; }
  JCCL_FN size_t llStride() const { return llSlotBytes_ + 128; }
  JCCL_FN size_t ll128Offset() const { return 128 + kSlots * llStride() + 128; }
  JCCL_FN size_t ll128Stride() const { return ll128SlotBytes_ + 256; }
  // Page-aligned, so that a connection that never uses SIMPLE leaves its pages untouched.
  JCCL_FN size_t simpleOffset() const { return roundUp(ll128Offset() + kSlots * ll128Stride(), 4096); }
  JCCL_FN size_t simpleStride() const { return kSimpleHeaderBytes + simpleSlotBytes_ + kSlotTailBytes; }
  JCCL_FN size_t blockBytes() const { return roundUp(simpleOffset() + kSlots * simpleStride(), 4096); }

  // Return the offset of a step's slot in the block: of its cells, its lines, or for SIMPLE its header.
  JCCL_FN size_t llSlot(uint64_t step) const { return llOffset() + (step % kSlots) * llStride(); }
  JCCL_FN size_t ll128Slot(uint64_t step) const { return ll128Offset() + (step % kSlots) * ll128Stride(); }
  JCCL_FN size_t slotHeader(uint64_t step) const { return simpleOffset() + (step % kSlots) * simpleStride(); }
  // Returns the offset of a SIMPLE chunk of this size, which both ends know. If `rotates`, chunks smaller than the slot
  // alternate between its parts: a line that has not been used for a while has left the reader's own cache, and the
  // writer gets it several times faster from the shared cache. That is why a slot is larger than a step. On network
  // connections chunks do not rotate.
  JCCL_FN size_t simpleChunk(uint64_t step, uint32_t bytes, bool rotates) const {
    const size_t slot = slotHeader(step) + kSimpleHeaderBytes;
    if (!rotates || bytes < kRotatingBytes) return slot;
    const uint32_t part = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    const uint32_t parts = simpleSlotBytes_ / part;
    return parts <= 1 ? slot : slot + step / kSlots % parts * part;
  }
  // Returns the offset of a SIMPLE chunk from the first SIMPLE slot. The data of SIMPLE slots may be in separate
  // memory, with the layout of this part of the block; the headers there are unused.
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
