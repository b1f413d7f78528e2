#include "transport/recv_proxy.h"

#include <array>
#include <atomic>
#include <cstring>
#include <string>

namespace jccl {

static_assert(kNetInFlight == kSlots);

RecvProxy::RecvProxy(const ConnectionMemory& memory, int peer, int channel, UserMemory& userMemory,
                     NetMemory* deviceSlots, NetErrorLatch& errors)
    : NetProxy(memory, peer, channel, errors), userMemory_(userMemory), deviceSlots_(deviceSlots) {}

void RecvProxy::attach(std::unique_ptr<NetRecvConnection> connection, Net& net) {
  const size_t bytes = size_t{kSlots} * (memory_.shape.llSlotBytes() + memory_.shape.ll128SlotBytes());
  landing_.reset(new uint64_t[bytes / sizeof(uint64_t)]);
  if (net.needsRegisteredMemory()) {
    attached_ = net.registerMemory(memory_.block, memory_.shape.blockBytes(), NetAccess::Write, &slotsMemory_);
    if (attached_) {
      attached_ = net.registerMemory(landing_.get(), bytes, NetAccess::Write, &landingMemory_);
    }
  }
  connection_ = std::move(connection);
}

uint8_t* RecvProxy::landingLL(uint64_t step) const {
  return reinterpret_cast<uint8_t*>(landing_.get()) + step % kSlots * memory_.shape.llSlotBytes();
}

uint8_t* RecvProxy::landingLL128(uint64_t step) const {
  return reinterpret_cast<uint8_t*>(landing_.get()) + size_t{kSlots} * memory_.shape.llSlotBytes() +
         step % kSlots * memory_.shape.ll128SlotBytes();
}

Status RecvProxy::post() {
  const ConnectionShape& shape = memory_.shape;
  std::array<NetBuffer, kNetTags> byTag = {
      NetBuffer{landingLL(posted_), shape.llSlotBytes(), landingMemory_.get()},
      NetBuffer{landingLL128(posted_), shape.ll128SlotBytes(), landingMemory_.get()},
      NetBuffer{memory_.simpleSlot(posted_), shape.simpleSlotBytes(),
                memory_.deviceSlots != nullptr ? deviceSlots_ : slotsMemory_.get()}};
  byTag[static_cast<size_t>(Protocol::Simple)].hasTail = true;
  return connection_->irecv(sequenceOf(posted_++), byTag);
}

Status RecvProxy::refuse(uint64_t step, const NetMessage& message, const char* why) const {
  return Status::transport("net: " + connection_->describe() + " sent step=" + std::to_string(step) + " protocol=" +
                           std::to_string(message.tag) + " bytes=" + std::to_string(message.bytes) + ": " + why);
}

Status RecvProxy::deliverLL(uint64_t step, const NetMessage& message) {
  if (message.bytes % kLLCellBytes != 0) return refuse(step, message, "not whole LL cells");
  const auto* from = reinterpret_cast<const uint64_t*>(landingLL(step));
  auto* to = reinterpret_cast<uint64_t*>(memory_.llSlot(step));
  const uint32_t cells = message.bytes / kLLCellBytes;
  const auto flag = static_cast<uint32_t>(step + 1);
  for (uint32_t i = 0; i < cells; ++i) {
    if (static_cast<uint32_t>(from[i] >> 32) != flag) return refuse(step, message, "an LL cell has a wrong flag");
  }
  // An adapter may write the landing memory at any time, so the stored cell contains the flag that was checked, not one
  // that is read again.
  for (uint32_t i = 0; i < cells; ++i) {
    const uint64_t cell = uint64_t{flag} << 32 | static_cast<uint32_t>(from[i]);
    std::atomic_ref<uint64_t>(to[i]).store(cell, std::memory_order_release);
  }
  return Status::ok();
}

Status RecvProxy::deliverLL128(uint64_t step, const NetMessage& message) {
  if (message.bytes % kLL128LineBytes != 0) return refuse(step, message, "not whole LL128 lines");
  const uint8_t* from = landingLL128(step);
  uint8_t* to = memory_.ll128Slot(step);
  const uint64_t flag = step + 1;
  for (uint32_t at = 0; at < message.bytes; at += kLL128LineBytes) {
    if (std::memcmp(from + at + kLL128PayloadBytes, &flag, sizeof flag) != 0) {
      return refuse(step, message, "an LL128 line has a wrong flag");
    }
  }
  for (uint32_t at = 0; at < message.bytes; at += kLL128LineBytes) {
    std::memcpy(to + at, from + at, kLL128PayloadBytes);
    auto& word = *reinterpret_cast<uint64_t*>(to + at + kLL128PayloadBytes);
    std::atomic_ref<uint64_t>(word).store(flag, std::memory_order_release);
  }
  return Status::ok();
}

// Posts the user addresses of all steps that have not arrived. Every call posts them again, because repetition costs
// nothing.
void RecvProxy::postUserAddresses() {
  for (uint64_t step = taken_; step < posted_; ++step) {
    const ZeroCopySlot& slot = memory_.zeroCopySlot(step);
    if (slot.postedFor.load(std::memory_order_acquire) != step + 1) continue;
    NetBuffer buffer{slot.postedAddress, slot.postedBytes};
    if (slotsMemory_ != nullptr) {
      if (!userMemory_.holds(buffer, NetAccess::Write)) continue;
      buffer.memory = userMemory_.reach(*connection_, buffer, NetAccess::Write);
    }
    connection_->redirect(sequenceOf(step),
                          {static_cast<uint8_t>(Protocol::Simple), slot.postedCheck, slot.postedBytes}, buffer);
  }
}

void RecvProxy::revoke() {
  for (uint64_t step = taken_; step < taken_ + kSlots; ++step) {
    if (memory_.zeroCopySlot(step).postedFor.load(std::memory_order_acquire) != step + 1) continue;
    failed_ = true;
    if (connection_ != nullptr) connection_->revoke();
    return;
  }
}

Status RecvProxy::expose(NetMemory& memory, uint32_t* key) {
  if (connection_ == nullptr) return Status::transport("net: rank=" + std::to_string(peer_) + " is not connected");
  Status exposed = connection_->expose(memory, key);
  exposes_ = exposes_ || exposed.isOk();
  return exposed;
}

Status RecvProxy::deliver(uint64_t step, const NetArrival& arrival) {
  const NetMessage& message = arrival.message;
  const auto protocol = static_cast<Protocol>(message.tag);
  if (arrival.data == nullptr && !(exposes_ && protocol == Protocol::Simple)) {
    return refuse(step, message, "its data went to memory that this connection does not expose");
  }
  LLCodec::scrubRest(memory_.llSlot(step), memory_.shape.llSlotBytes(), step,
                     protocol == Protocol::LL ? message.bytes : 0);
  switch (protocol) {
    case Protocol::LL:
      return deliverLL(step, message);
    case Protocol::LL128:
      return deliverLL128(step, message);
    case Protocol::Simple:
      break;
    default:
      return refuse(step, message, "unknown protocol");
  }
  SlotHeader* header = memory_.slotHeader(step);
  header->check = message.check;
  header->bytes = message.bytes;
  header->protocol = message.tag;
  memory_.zeroCopySlot(step).userData =
      arrival.data == memory_.simpleSlot(step) ? nullptr : static_cast<const uint8_t*>(arrival.data);
  header->published.store(step + 1, std::memory_order_release);
  return Status::ok();
}

// Takes the next step if it has arrived, and begins to flush data in GPU memory.
Status RecvProxy::take(bool* arrived) {
  Taken& taken = arrived_[taken_ % kNetInFlight];
  if (Status tested = connection_->test(sequenceOf(taken_), arrived, &taken.arrival); !tested || !*arrived)
    return tested;
  const NetMessage& message = taken.arrival.message;
  taken.flushes =
      memory_.deviceSlots != nullptr && message.tag == static_cast<uint8_t>(Protocol::Simple) && message.bytes > 0;
  const uint64_t step = taken_++;
  return taken.flushes ? connection_->flush(sequenceOf(step), {taken.arrival.data, message.bytes, deviceSlots_})
                       : Status::ok();
}

Status RecvProxy::deliverNext(bool* delivered) {
  const Taken& next = arrived_[delivered_ % kNetInFlight];
  *delivered = true;
  if (next.flushes) {
    if (Status tested = connection_->flushed(sequenceOf(delivered_), delivered); !tested || !*delivered) return tested;
  }
  return deliver(delivered_++, next.arrival);
}

Status RecvProxy::advance(int64_t nowNanos, int* work) {
  if (connection_ == nullptr) return Status::ok();
  if (!attached_) return attached_;
  const uint64_t head = memory_.head->head.load(std::memory_order_acquire);
  while (posted_ < head + kSlots && posted_ - delivered_ < kNetInFlight) {
    if (Status posted = post(); !posted) return posted;
  }
  postUserAddresses();
  Status moved = connection_->progress(nowNanos, work);
  // Data that has arrived is delivered even if the connection has just ended.
  for (bool arrived = true; arrived && taken_ < posted_;) {
    if (Status took = take(&arrived); !took) return took;
  }
  for (bool delivered = true; delivered && delivered_ < taken_;) {
    if (Status published = deliverNext(&delivered); !published) return published;
    if (delivered) ++*work;
  }
  return moved;
}

}  // namespace jccl
