// One end of a connection: pointers into the block described in layout.h, and this end's own step count.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/cpu_placement.h"
#include "base/event_count.h"
#include "base/progress_engine.h"
#include "primitives/codecs.h"
#include "primitives/layout.h"
#include "primitives/wait_place.h"
#include "primitives/zero_copy_slots.h"

namespace jccl {

// How much of the next slot is prefetched: what follows, the processor's own prefetcher finds.
inline constexpr uint32_t kMaxPrefetchedBytes = 4 * kLineBytes;

// Takes a line to this core for writing, and does not wait for it: a store to a line that another core has would, at the
// next fence, and a call from Java ends with one.
inline void prefetchForWriting(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));  // __builtin_prefetch would only read it
#else
  __builtin_prefetch(line, 1);
#endif
}

// Where the slots of one connection are, and its head line: all that a proxy needs. Both are in zeroed memory before
// any other thread may see them.
struct ConnectionMemory {
  uint8_t* block = nullptr;  // the receiver's block: holds the slots
  HeadLine* head = nullptr;  // the sender's head line
  ConnectionShape shape;
  bool rotates = false;  // chunks alternate between the parts of a SIMPLE slot
  // The maximum bytes of a message that sends and receives put into a slot: smaller than the slot, so that the receiver
  // starts early and both ends stay in the cache. An adapter is kept busy by fewer and larger writes.
  uint32_t maxExchangeBytes = 64 * 1024;
  // Where kernels and an adapter have the data of SIMPLE slots in memory of a GPU; null: in the block, behind the headers.
  uint8_t* deviceSlots = nullptr;
  ZeroCopySlot* zeroCopySlots = nullptr;  // kSlots of them behind a network, otherwise null

  uint8_t* llSlot(uint64_t step) const { return block + shape.llSlot(step); }
  uint8_t* ll128Slot(uint64_t step) const { return block + shape.ll128Slot(step); }
  SlotHeader* slotHeader(uint64_t step) const { return reinterpret_cast<SlotHeader*>(block + shape.slotHeader(step)); }
  ZeroCopySlot& zeroCopySlot(uint64_t step) const { return zeroCopySlots[step % kSlots]; }
  uint8_t* simpleSlot(uint64_t step) const {
    if (deviceSlots != nullptr) return deviceSlots + shape.simpleChunkInSlots(step, 0, false);
    return reinterpret_cast<uint8_t*>(slotHeader(step)) + kSimpleHeaderBytes;
  }
  uint8_t* simpleChunk(uint64_t step, uint32_t bytes) const { return block + shape.simpleChunk(step, bytes, rotates); }
  // Where the data of the slot begins, by protocol.
  uint8_t* slotData(Protocol protocol, uint64_t step) const {
    return protocol == Protocol::LL ? llSlot(step) : protocol == Protocol::LL128 ? ll128Slot(step) : simpleSlot(step);
  }
};

// The sending end, used by one thread at a time.
struct SendConnection {
  ConnectionMemory memory;
  EventCount* receiverEvents = nullptr;  // the rank to wake after publishing; null behind a network
  FirstUse* firstUse = nullptr;          // behind a network only
  uint64_t step = 0;                     // the next step to write
  uint64_t cachedHead = 0;               // re-read only when it grants no more
  int peer = -1;
  TransportKind transport = TransportKind::None;
  ZeroCopySends zeroCopySends;  // behind a network
  uint64_t sentBytes = 0;       // as they lie in the slots; read by any thread

  bool isNet() const { return isNetwork(transport); }

  // Whether the next slot may be written.
  bool hasCredit() {
    if (__builtin_expect(step < cachedHead + kSlots, 1)) return true;
    cachedHead = memory.head->head.load(std::memory_order_acquire);
    return step < cachedHead + kSlots;
  }

  // Ends the current step, whose LL or LL128 slot is written, at a receiver that shares memory. The next is likely of the same
  // kind and size.
  template <int FlagBits = 32>
  void publishPacked(Protocol protocol, uint32_t wireBytes) {
    scrubRest<FlagBits>(protocol == Protocol::LL ? wireBytes : 0);
    countSent(wireBytes);
    ++step;
    const uint8_t* next = memory.slotData(protocol, step);
    for (uint32_t at = 0; at < std::min(wireBytes, kMaxPrefetchedBytes); at += kLineBytes)
      prefetchForWriting(next + at);
    receiverEvents->notifyIfWaiting();
  }

  // Ends the current step, whose slot is written, with the slot's header: always for SIMPLE, for the others where a proxy
  // reads it.
  template <int FlagBits = 32>
  void publish(Protocol protocol, uint32_t bytes, uint32_t check) {
    if (!isNet()) scrubRest<FlagBits>(0);
    countSent(bytes);
    SlotHeader* header = memory.slotHeader(step);
    header->check = check;
    header->bytes = bytes;
    header->protocol = static_cast<uint8_t>(protocol);
    header->published.store(++step, std::memory_order_release);
    if (receiverEvents != nullptr) {
      receiverEvents->notifyIfWaiting();
    } else if (__builtin_expect(step == 1, 0) && firstUse != nullptr) {
      firstUse->noteFirstUse();
    }
  }

 private:
  void countSent(uint32_t bytes) { __atomic_store_n(&sentBytes, sentBytes + bytes, __ATOMIC_RELAXED); }

  // Of the step's LL slot, all of it if the step's protocol is another one. Behind a network the receive proxy does so.
  template <int FlagBits>
  void scrubRest(uint32_t writtenBytes) {
    LLCodec::scrubRest<FlagBits>(memory.llSlot(step), memory.shape.llSlotBytes(), step, writtenBytes);
  }
};

// The receiving end, used by one thread at a time.
struct RecvConnection {
  ConnectionMemory memory;
  EventCount* senderEvents = nullptr;    // the rank to wake after freeing; null behind a network
  const CpuPlacement* sender = nullptr;  // likewise
  uint64_t step = 0;                     // the next step to read
  int peer = -1;
  TransportKind transport = TransportKind::None;

  bool isNet() const { return isNetwork(transport); }

  // Whether the next step is there, with protocol SIMPLE.
  bool isPublished() const { return memory.slotHeader(step)->published.load(std::memory_order_acquire) == step + 1; }

  // Ends the current step: its slot may be written again.
  void release() {
    memory.head->head.store(++step, std::memory_order_release);
    if (senderEvents != nullptr) senderEvents->notifyIfWaiting();
  }

  // After release, where the sender waits for nothing that this rank sends, and so is ahead: the next slot is likely written,
  // of the same kind and size.
  void prefetch(Protocol protocol, uint32_t wireBytes) const {
    const bool simple = protocol == Protocol::Simple;
    if (simple) __builtin_prefetch(memory.slotHeader(step));
    const uint8_t* next = simple ? memory.simpleChunk(step, wireBytes) : memory.slotData(protocol, step);
    for (uint32_t at = 0; at < std::min(wireBytes, kMaxPrefetchedBytes); at += kLineBytes)
      __builtin_prefetch(next + at);
  }

  // Where the chunk of the next step is, once its slot is published with protocol SIMPLE.
  const uint8_t* simpleChunk(uint32_t bytes) const {
    const uint8_t* userData = isNet() ? memory.zeroCopySlot(step).userData : nullptr;
    return userData != nullptr ? userData : memory.simpleChunk(step, bytes);
  }
};

}  // namespace jccl
