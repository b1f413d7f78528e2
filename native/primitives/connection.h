// One end of a connection: pointers into the block described in layout.h, and this end's own step count.
#pragma once

#include <cstdint>

#include "base/doorbell.h"
#include "base/whereabouts.h"
#include "primitives/layout.h"
#include "primitives/lent_pieces.h"

namespace jccl {

enum class TransportKind : uint8_t { P2p = 0, Shm = 1, Net = 2, None = 255 };

constexpr const char* nameOf(TransportKind kind) {
  switch (kind) {
    case TransportKind::P2p:
      return "p2p";
    case TransportKind::Shm:
      return "shm";
    case TransportKind::Net:
      return "net";
    case TransportKind::None:
      break;
  }
  return "none";
}

// Where the slots of one connection are, and its head line: all that a proxy needs. Both lie in zeroed memory before
// anybody may see them.
struct ConnectionMemory {
  uint8_t* block = nullptr;  // the receiver's block: holds the slots
  HeadLine* head = nullptr;  // the sender's head line
  ConnectionShape shape;
  bool rotates = false;  // pieces take turns in the parts of a SIMPLE slot

  uint8_t* llSlot(uint64_t step) const { return block + shape.llOffset() + (step % kSlots) * shape.llStride(); }
  uint8_t* ll128Slot(uint64_t step) const {
    return block + shape.ll128Offset() + (step % kSlots) * shape.ll128Stride();
  }
  SlotHeader* slotHeader(uint64_t step) const {
    return reinterpret_cast<SlotHeader*>(block + shape.simpleOffset() + (step % kSlots) * shape.simpleStride());
  }
  uint8_t* simpleSlot(uint64_t step) const { return reinterpret_cast<uint8_t*>(slotHeader(step)) + kSimpleHeaderBytes; }
  // Where a piece of so many bytes lies in its slot; both ends know its size. Behind a network always at the begin.
  // Elsewhere pieces smaller than the slot take turns in its parts: a line that was not used for a while has left the
  // reader's own cache, and the writer gets it several times faster from the shared one. For that a slot is larger than a step.
  uint8_t* simplePiece(uint64_t step, uint32_t bytes) const {
    uint8_t* slot = simpleSlot(step);
    if (!rotates || bytes < kRotatingBytes) return slot;
    const uint32_t part = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    const uint32_t parts = shape.simpleSlotBytes() / part;
    return parts <= 1 ? slot : slot + step / kSlots % parts * part;
  }
  // Where the data of the slot begins, by protocol.
  uint8_t* slotData(Protocol protocol, uint64_t step) const {
    return protocol == Protocol::LL ? llSlot(step) : protocol == Protocol::LL128 ? ll128Slot(step) : simpleSlot(step);
  }
};

// The sending end, used by one thread at a time.
struct SendConnection {
  ConnectionMemory memory;
  Doorbell* receiverBell = nullptr;  // the rank to wake after publishing; null behind a network
  uint64_t step = 0;                 // the next step to write
  uint64_t cachedHead = 0;           // re-read only when it grants no more
  int peer = -1;
  TransportKind transport = TransportKind::None;
  LentPieces lent;  // behind a network

  bool isNet() const { return transport == TransportKind::Net; }
};

// The receiving end, used by one thread at a time.
struct RecvConnection {
  ConnectionMemory memory;
  Doorbell* senderBell = nullptr;       // the rank to wake after freeing; null behind a network
  const Whereabouts* sender = nullptr;  // likewise
  uint64_t step = 0;                    // the next step to read
  int peer = -1;
  TransportKind transport = TransportKind::None;

  bool isNet() const { return transport == TransportKind::Net; }

  // Where the piece of the next step is, once its slot is published with protocol SIMPLE.
  const uint8_t* simplePiece(uint32_t bytes) const {
    const uint8_t* lent = isNet() ? memory.slotHeader(step)->lent : nullptr;
    return lent != nullptr ? lent : memory.simplePiece(step, bytes);
  }
};

}  // namespace jccl
