#include "messages/net_link.h"

#include <string>

namespace jccl {

bool NetMessageLink::trySend(const MessageFrame& frame, const uint8_t* data, uint64_t bytes) {
  if (!send_.hasCredit()) return false;
  uint8_t* slot = send_.memory.simpleSlot(send_.step);
  std::memcpy(slot, &frame, sizeof frame);
  if (bytes > 0) std::memcpy(slot + kMessageFrameBytes, data, bytes);
  send_.publish(Protocol::Simple, static_cast<uint32_t>(kMessageFrameBytes + bytes), kMessageFrameCheck);
  return true;
}

bool NetMessageLink::trySendPart(const uint8_t* data, uint64_t bytes, uint64_t* end) {
  if (!sendsFromMemory()) return MessageLink::trySendPart(data, bytes, end);
  if (!send_.hasCredit()) return false;
  send_.memory.zeroCopySlot(send_.step).userData = data;
  send_.publish(Protocol::Simple, static_cast<uint32_t>(bytes), messageDataCheck(sentParts_++));
  *end = send_.step;
  return true;
}

Status NetMessageLink::receive(Received* next, bool* found) {
  *found = recv_.isPublished();
  if (!*found) return Status::ok();
  const SlotHeader* header = recv_.memory.slotHeader(recv_.step);
  const uint8_t* slot = recv_.simpleChunk(header->bytes);
  if (sendsFromMemory() && header->check == messageDataCheck(arrivedParts_)) {
    ++arrivedParts_;
    *next = {{.kind = MessageFrame::Kind::Data}, slot, header->bytes};
    return Status::ok();
  }
  if (header->check != kMessageFrameCheck || header->protocol != static_cast<uint8_t>(Protocol::Simple) ||
      header->bytes < kMessageFrameBytes || header->bytes > slotBytes()) {
    return Status::transport("messages: rank=" + std::to_string(recv_.peer) + " sent rank=" + std::to_string(rank_) +
                             " something that is no frame, bytes=" + std::to_string(header->bytes) +
                             " check=" + std::to_string(header->check));
  }
  std::memcpy(&next->frame, slot, sizeof next->frame);
  next->data = slot + kMessageFrameBytes;
  next->bytes = header->bytes - kMessageFrameBytes;
  return Status::ok();
}

// Posts the places of the next parts, as if no frame came between them. If one comes, the parts arrive later than
// posted for; their numbers keep them out of places that were posted for others.
void NetMessageLink::expectParts(uint8_t* to, uint64_t bytes) {
  if (!sendsFromMemory()) return;
  for (uint64_t i = 0; i < kSlots && bytes > 0; ++i) {
    const uint64_t part = std::min(bytes, maxData());
    ZeroCopySlot& slot = recv_.memory.zeroCopySlot(recv_.step + i);
    slot.postedAddress = to;
    slot.postedBytes = static_cast<uint32_t>(part);
    slot.postedCheck = messageDataCheck(arrivedParts_ + i);
    slot.postedFor.store(recv_.step + i + 1, std::memory_order_release);
    to += part;
    bytes -= part;
  }
}

}  // namespace jccl
