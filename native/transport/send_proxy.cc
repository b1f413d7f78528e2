#include "transport/send_proxy.h"

#include <atomic>
#include <cstring>
#include <string>

namespace jccl {
namespace {

// Returns true if all cells of an LL slot carry the flag. Cells are stored one by one, and some producers do not store
// them in order.
bool allCellsFlagged(uint8_t* slot, uint32_t bytes, uint32_t flag) {
  auto* cells = reinterpret_cast<uint64_t*>(slot);
  for (uint32_t i = 0; i < bytes / kLLCellBytes; ++i) {
    const uint64_t cell = std::atomic_ref<uint64_t>(cells[i]).load(std::memory_order_acquire);
    if (static_cast<uint32_t>(cell >> 32) != flag) return false;
  }
  return true;
}

bool allLinesFlagged(uint8_t* slot, uint32_t bytes, uint64_t flag) {
  for (uint32_t at = kLL128PayloadBytes; at < bytes; at += kLL128LineBytes) {
    const std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(slot + at));
    if (word.load(std::memory_order_acquire) != flag) return false;
  }
  return true;
}

}  // namespace

SendProxy::SendProxy(const ConnectionMemory& memory, int peer, int channel, Dial dial, UserMemory& userMemory,
                     NetMemory* deviceSlots, NetErrorLatch& errors)
    : NetProxy(memory, peer, channel, errors),
      dial_(std::move(dial)),
      userMemory_(userMemory),
      deviceSlots_(deviceSlots) {}

bool SendProxy::nextIsPublished() const {
  return memory_.slotHeader(posted_)->published.load(std::memory_order_acquire) == posted_ + 1;
}

bool SendProxy::pending() const { return !failed_ && (posted_ != done_ || nextIsPublished()); }

// Threads of other channels may still be at work. The user memory of their next steps is not published yet, and they
// call revoke() themselves before their operation ends.
void SendProxy::revoke() {
  for (uint64_t step = done_; step < done_ + kSlots; ++step) {
    const SlotHeader* header = memory_.slotHeader(step);
    if (header->published.load(std::memory_order_acquire) != step + 1) return;
    if (memory_.zeroCopySlot(step).userData == nullptr) continue;
    failed_ = true;
    if (connection_ != nullptr) connection_->revoke();
    return;
  }
}

Status SendProxy::post(bool* posted) {
  const SlotHeader* header = memory_.slotHeader(posted_);
  const uint32_t bytes = header->bytes;
  const auto protocol = static_cast<Protocol>(header->protocol);
  const bool isLL = protocol == Protocol::LL;
  const bool isLL128 = protocol == Protocol::LL128;
  const uint32_t capacity = isLL      ? memory_.shape.llSlotBytes()
                            : isLL128 ? memory_.shape.ll128SlotBytes()
                                      : memory_.shape.simpleSlotBytes();
  const uint32_t unit = isLL ? kLLCellBytes : isLL128 ? kLL128LineBytes : 1;
  if (header->protocol > 2 || bytes > capacity || bytes % unit != 0) {
    return Status::internal("net: to_rank=" + std::to_string(peer_) + " channel=" + std::to_string(channel_) +
                            " step=" + std::to_string(posted_) + " protocol=" + std::to_string(header->protocol) +
                            " bytes=" + std::to_string(bytes) + " capacity=" + std::to_string(capacity) +
                            ": the slot's header is wrong");
  }
  const ZeroCopySlot& zeroCopy = memory_.zeroCopySlot(posted_);
  const bool isZeroCopy = protocol == Protocol::Simple && zeroCopy.userData != nullptr;
  uint8_t* data = isZeroCopy ? const_cast<uint8_t*>(zeroCopy.userData) : memory_.slotData(protocol, posted_);
  if (isLL && !allCellsFlagged(data, bytes, static_cast<uint32_t>(posted_ + 1))) return Status::ok();
  if (isLL128 && !allLinesFlagged(data, bytes, posted_ + 1)) return Status::ok();
  if (Status dialled = dial(); !dialled) return dialled;
  NetBuffer buffer{data, bytes, registered_.get(), isZeroCopy && zeroCopy.awaitsAddress};
  buffer.hasTail = protocol == Protocol::Simple && !isZeroCopy;
  buffer.exposed = {zeroCopy.exposedAddress, zeroCopy.exposedKey};
  if (protocol == Protocol::Simple && memory_.deviceSlots != nullptr) buffer.memory = deviceSlots_;
  if (isZeroCopy && registered_ != nullptr) {
    NetMemory* users = userMemory_.reach(*connection_, buffer, NetAccess::Read);
    if (users != nullptr) {
      buffer.memory = users;
    } else {
      buffer.address = memory_.slotData(protocol, posted_);
      buffer.hasTail = true;
      std::memcpy(buffer.address, data, bytes);
    }
  }
  *posted = true;
  bytes_ += bytes;
  return connection_->isend(sequenceOf(posted_++), {header->protocol, header->check, bytes}, buffer);
}

Status SendProxy::advance(int64_t nowNanos, int* work) {
  while (posted_ - done_ < kSlots && nextIsPublished()) {
    bool posted = false;
    if (Status tried = post(&posted); !tried) return tried;
    if (!posted) break;
    ++*work;
  }
  if (dialsAhead_) {
    if (Status dialled = dial(); !dialled) return dialled;
  }
  if (connection_ == nullptr) return Status::ok();
  if (Status moved = connection_->progress(nowNanos, work); !moved) return moved;
  const uint64_t before = done_;
  while (done_ < posted_) {
    bool left = false;
    if (Status tested = connection_->test(sequenceOf(done_), &left); !tested) return tested;
    if (!left) break;
    ZeroCopySlot& zeroCopy = memory_.zeroCopySlot(done_++);
    zeroCopy.userData = nullptr;
    zeroCopy.awaitsAddress = false;
    zeroCopy.exposedAddress = 0;
  }
  if (done_ != before) {
    memory_.head->head.store(done_, std::memory_order_release);
    ++*work;
  }
  return Status::ok();
}

}  // namespace jccl
