// The two ends of a connection: pointers into the block that layout.h describes, and the end's own step count.
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

// Bytes of the next slot that are prefetched. The processor's own prefetcher finds the rest.
inline constexpr uint32_t kMaxPrefetchedBytes = 4 * kLineBytes;

// Fetches a cache line for writing without waiting for it. A store to a line that another core has would stall at the
// next fence, and a call from Java ends with a fence.
inline void prefetchForWriting(const void* line) {
#if defined(__x86_64__)
  // __builtin_prefetch would fetch it for reading only.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

// The slots of one connection and its head line: all that a proxy needs. Both must be in zeroed memory before any other
// thread may see them.
struct ConnectionMemory {
  uint8_t* block = nullptr;  // the receiver's block: holds the slots
  HeadLine* head = nullptr;  // the sender's head line
  ConnectionShape shape;
  bool rotates = false;  // chunks alternate between the parts of a SIMPLE slot
  // The maximum number of bytes of a message that sends and receives put into one slot. The default is less than a
  // slot, so that the receiver starts early and both ends stay in the cache. For an adapter the maximum is a whole
  // slot: fewer and larger writes keep it busy.
  uint32_t maxExchangeBytes = 64 * 1024;
  // GPU memory that contains the data of SIMPLE slots, for kernels and an adapter; null: the data follows the headers
  // in the block.
  uint8_t* deviceSlots = nullptr;
  ZeroCopySlot* zeroCopySlots = nullptr;  // kSlots of them on a network connection, otherwise null

  uint8_t* llSlot(uint64_t step) const { return block + shape.llSlot(step); }
  uint8_t* ll128Slot(uint64_t step) const { return block + shape.ll128Slot(step); }
  SlotHeader* slotHeader(uint64_t step) const { return reinterpret_cast<SlotHeader*>(block + shape.slotHeader(step)); }
  ZeroCopySlot& zeroCopySlot(uint64_t step) const { return zeroCopySlots[step % kSlots]; }
  uint8_t* simpleSlot(uint64_t step) const {
    if (deviceSlots != nullptr) return deviceSlots + shape.simpleChunkInSlots(step, 0, false);
    return reinterpret_cast<uint8_t*>(slotHeader(step)) + kSimpleHeaderBytes;
  }
  uint8_t* simpleChunk(uint64_t step, uint32_t bytes) const { return block + shape.simpleChunk(step, bytes, rotates); }
  // Returns the start of the slot's data for the protocol.
  uint8_t* slotData(Protocol protocol, uint64_t step) const {
    return protocol == Protocol::LL ? llSlot(step) : protocol == Protocol::LL128 ? ll128Slot(step) : simpleSlot(step);
  }
};

// The sending end. One thread at a time uses it.
struct SendConnection {
  ConnectionMemory memory;
  EventCount* receiverEvents = nullptr;  // wakes the receiver after publishing; null on a network connection
  FirstUse* firstUse = nullptr;          // called at the first step; null unless this is a network connection
  uint64_t step = 0;                     // the next step to write
  uint64_t cachedHead = 0;  // head value read last; read again by hasCredit if this value permits no further step
  int peer = -1;
  TransportKind transport = TransportKind::None;
  bool crossesHosts = false;
  ZeroCopySends zeroCopySends;  // used only on a network connection
  uint64_t sentBytes = 0;       // counted in the format of slots, so with flags; any thread may read this number

  bool isNet() const { return isNetwork(transport); }
  // Returns true if WirePrimitives narrow the chunks of this connection; equal at both ends.
  bool narrows() const { return crossesHosts && isNet(); }

  // Returns true if the next slot may be written.
  bool hasCredit() {
    if (__builtin_expect(step < cachedHead + kSlots, 1)) return true;
    cachedHead = memory.head->head.load(std::memory_order_acquire);
    return step < cachedHead + kSlots;
  }

  // Ends the current step, whose LL or LL128 slot is written, on a connection through shared memory. Prefetches the
  // next slot, which is likely to have the same protocol and size.
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

  // Ends the current step, whose slot is written, by writing the slot's header. SIMPLE always needs the header; LL and
  // LL128 need it if a proxy reads the slot.
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

  // If LLFlags::mustScrub(step), scrubs the rest of the step's LL slot, or all of it if the step uses another protocol.
  // On a network connection the receive proxy does this.
  template <int FlagBits>
  void scrubRest(uint32_t writtenBytes) {
    LLCodec::scrubRest<FlagBits>(memory.llSlot(step), memory.shape.llSlotBytes(), step, writtenBytes);
  }
};

// The receiving end. One thread at a time uses it.
struct RecvConnection {
  ConnectionMemory memory;
  EventCount* senderEvents = nullptr;    // wakes the sender after a slot is freed; null on a network connection
  const CpuPlacement* sender = nullptr;  // core of the sending rank; null on a network connection
  uint64_t step = 0;                     // the next step to read
  int peer = -1;
  TransportKind transport = TransportKind::None;
  bool crossesHosts = false;

  bool isNet() const { return isNetwork(transport); }
  // Returns true if WirePrimitives narrow the chunks of this connection; equal at both ends.
  bool narrows() const { return crossesHosts && isNet(); }

  // Returns true if the next step has been published with protocol SIMPLE.
  bool isPublished() const { return memory.slotHeader(step)->published.load(std::memory_order_acquire) == step + 1; }

  // Ends the current step, so that its slot may be written again.
  void release() {
    memory.head->head.store(++step, std::memory_order_release);
    if (senderEvents != nullptr) senderEvents->notifyIfWaiting();
  }

  // Prefetches the next slot, which the sender has probably written by now with the same protocol and size. Called
  // after release() if the sender waits for nothing that this rank sends, and so runs ahead.
  void prefetch(Protocol protocol, uint32_t wireBytes) const {
    const bool simple = protocol == Protocol::Simple;
    if (simple) __builtin_prefetch(memory.slotHeader(step));
    const uint8_t* next = simple ? memory.simpleChunk(step, wireBytes) : memory.slotData(protocol, step);
    for (uint32_t at = 0; at < std::min(wireBytes, kMaxPrefetchedBytes); at += kLineBytes)
      __builtin_prefetch(next + at);
  }

  // Returns the address of the next step's chunk, once its slot is published with protocol SIMPLE.
  const uint8_t* simpleChunk(uint32_t bytes) const {
    const uint8_t* userData = isNet() ? memory.zeroCopySlot(step).userData : nullptr;
    return userData != nullptr ? userData : memory.simpleChunk(step, bytes);
  }
};

}  // namespace jccl
