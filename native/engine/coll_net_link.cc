#include "engine/coll_net_link.h"

#include <atomic>
#include <cstring>
#include <string>

#include "primitives/reduce.h"

namespace jccl {

Status CollNetLink::begin() {
  const SlotHeader* header = to_.slotHeader(begun_);
  Chunk& chunk = chunkOf(begun_);
  chunk = {header->check, header->bytes, static_cast<DataType>(header->type), static_cast<ReduceOp>(header->op)};
  const size_t element = sizeOf(chunk.type);
  if (static_cast<Protocol>(header->protocol) != Protocol::Simple || element == 0 || header->op >= kReduceOpCount ||
      chunk.bytes > to_.shape.simpleSlotBytes() || chunk.bytes % element != 0) {
    return Status::internal("collnet: step=" + std::to_string(begun_) +
                            " protocol=" + std::to_string(header->protocol) + " type=" + std::to_string(header->type) +
                            " op=" + std::to_string(header->op) + " bytes=" + std::to_string(chunk.bytes) +
                            " capacity=" + std::to_string(to_.shape.simpleSlotBytes()) +
                            ": the slot's header is wrong");
  }
  const size_t slot = begun_ % CollNetGroup::kSlots;
  if (chunk.bytes != 0) {
    std::memcpy(group_.sendMemory(slot), to_.simpleSlot(begun_), chunk.bytes);
    group_.allReduce(slot, chunk.bytes / element, chunk.type, chunk.op);
  }
  to_.head->head.store(++begun_, std::memory_order_release);
  return Status::ok();
}

// The network adds; averages are divided here.
void CollNetLink::finish(const Chunk& chunk, uint8_t* sums) const {
  void* to = from_.simpleSlot(delivered_);
  const void* source = sums;
  const PostOp post{chunk.op == ReduceOp::Avg ? ranks_ : 1};
  reduceCopyKernel(chunk.type, chunk.op)(&to, 1, &source, 1, chunk.bytes / sizeOf(chunk.type), post, 0);
}

bool CollNetLink::deliver() {
  const size_t slot = delivered_ % CollNetGroup::kSlots;
  const Chunk& chunk = chunkOf(delivered_);
  if (delivered_ >= from_.head->head.load(std::memory_order_acquire) + kSlots) return false;
  if (chunk.bytes != 0) {
    if (!group_.poll(slot) || group_.failed()) return false;
    finish(chunk, group_.recvMemory(slot));
  }
  SlotHeader* header = from_.slotHeader(delivered_);
  header->check = chunk.check;
  header->bytes = chunk.bytes;
  header->protocol = static_cast<uint8_t>(Protocol::Simple);
  header->published.store(++delivered_, std::memory_order_release);
  return true;
}

Status CollNetLink::poll(int* work) {
  const size_t capacity = to_.shape.simpleSlotBytes();
  if (Status reserved = group_.reserve(capacity, capacity); !reserved) return reserved;
  const auto published = [this] {
    return to_.slotHeader(begun_)->published.load(std::memory_order_acquire) == begun_ + 1;
  };
  while (begun_ < delivered_ + CollNetGroup::kSlots && published()) {
    if (Status begun = begin(); !begun) return begun;
    ++*work;
  }
  while (delivered_ < begun_ && deliver()) ++*work;
  return group_.failed() ? group_.error() : Status::ok();
}

}  // namespace jccl
