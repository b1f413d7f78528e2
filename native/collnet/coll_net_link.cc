#include "collnet/coll_net_link.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <string>

#include "collectives/chain.h"
#include "primitives/reduce.h"

namespace jccl {

// A kernel passes on kChainLag + 1 chunks before it takes the first result, so the group needs as many slots.
static_assert(kChainLag < CollNetGroup::kSlots);

Status CollNetLink::describe(const SlotHeader& header, Chunk* chunk) const {
  const OperationCode code = {static_cast<Collective>(header.collective), static_cast<DataType>(header.type),
                              static_cast<ReduceOp>(header.op)};
  *chunk = {code, header.check, header.bytes};
  if (code.collective == Collective::AllReduce) {
    chunk->stepsIn = chunk->stepsOut = 1;
  } else if (code.collective == Collective::AllGather) {
    chunk->stepsIn = ranksOfHost_;
    chunk->stepsOut = ranks_;
  } else if (code.collective == Collective::ReduceScatter) {
    chunk->stepsIn = ranks_;
    chunk->stepsOut = ranksOfHost_;
  }
  if (static_cast<Protocol>(header.protocol) == Protocol::Simple && code.valid() && chunk->stepsIn != 0 &&
      chunk->stepsOut != 0 && chunk->bytes <= to_.shape.simpleSlotBytes() && chunk->bytes % sizeOf(code.type) == 0) {
    return Status::ok();
  }
  return Status::internal("collnet: step=" + std::to_string(taken_) + " protocol=" + std::to_string(header.protocol) +
                          " collective=" + std::to_string(header.collective) + " type=" + std::to_string(header.type) +
                          " op=" + std::to_string(header.op) + " bytes=" + std::to_string(chunk->bytes) +
                          " capacity=" + std::to_string(to_.shape.simpleSlotBytes()) +
                          " ranksOfHost=" + std::to_string(ranksOfHost_) + ": the slot's header is wrong");
}

void CollNetLink::begin(const Chunk& chunk, size_t slot) {
  if (chunk.bytes == 0) return;
  const size_t own = size_t{ranksOfHost_} * chunk.bytes;
  switch (chunk.code.collective) {
    case Collective::AllGather:
      return group_.allGather(slot, own);
    case Collective::ReduceScatter:
      return group_.reduceScatter(slot, own, chunk.code.type, chunk.code.op);
    default:
      return group_.allReduce(slot, chunk.bytes / sizeOf(chunk.code.type), chunk.code.type, chunk.code.op);
  }
}

Status CollNetLink::take(int* work) {
  const SlotHeader* header = to_.slotHeader(taken_);
  if (filled_ == delivered_ + CollNetGroup::kSlots) return Status::ok();
  if (header->published.load(std::memory_order_acquire) != taken_ + 1) return Status::ok();
  Chunk& chunk = chunkOf(filled_);
  Chunk found;
  if (Status described = describe(*header, &found); !described) return described;
  if (chunk.taken == 0) {
    if (!group_.has(size_t{found.bytes} * found.stepsIn, size_t{found.bytes} * found.stepsOut)) {
      if (filled_ != delivered_) return Status::ok();
      // rounded up to a power of two, so that memory is enlarged only a few times
      const size_t step = std::bit_ceil(size_t{found.bytes});
      if (Status reserved = group_.reserve(step * found.stepsIn, step * found.stepsOut); !reserved) return reserved;
    }
    chunk = found;
  } else if (found.code.encode() != chunk.code.encode() || found.bytes != chunk.bytes) {
    return Status::internal(
        "collnet: step=" + std::to_string(taken_) + " bytes=" + std::to_string(found.bytes) +
        " belongs to another operation than the preceding steps with bytes=" + std::to_string(chunk.bytes));
  }
  const size_t slot = filled_ % CollNetGroup::kSlots;
  if (chunk.bytes != 0) {
    std::memcpy(group_.sendMemory(slot) + size_t{chunk.taken} * chunk.bytes, to_.simpleSlot(taken_), chunk.bytes);
  }
  to_.head->head.store(++taken_, std::memory_order_release);
  ++*work;
  if (++chunk.taken != chunk.stepsIn) return Status::ok();
  begin(chunk, slot);
  ++filled_;
  return Status::ok();
}

bool CollNetLink::deliver() {
  if (delivered_ == filled_ || returned_ >= from_.head->head.load(std::memory_order_acquire) + kSlots) return false;
  Chunk& chunk = chunkOf(delivered_);
  if (chunk.bytes != 0) {
    const size_t slot = delivered_ % CollNetGroup::kSlots;
    if (!group_.poll(slot) || group_.failed()) return false;
    // The network computes sums only, so averages are divided here.
    const bool divides = chunk.code.op == ReduceOp::Avg && chunk.code.collective != Collective::AllGather;
    const auto copy = reduceCopyKernel(chunk.code.type, divides ? ReduceOp::Avg : ReduceOp::Sum);
    void* to = from_.simpleSlot(returned_);
    const void* source = group_.recvMemory(slot) + size_t{chunk.delivered} * chunk.bytes;
    copy(&to, 1, &source, 1, chunk.bytes / sizeOf(chunk.code.type), PostOp{divides ? ranks_ : 1}, 0);
  }
  SlotHeader* header = from_.slotHeader(returned_);
  header->check = chunk.check;
  header->bytes = chunk.bytes;
  header->protocol = static_cast<uint8_t>(Protocol::Simple);
  header->published.store(++returned_, std::memory_order_release);
  if (++chunk.delivered == chunk.stepsOut) {
    chunk = {};
    ++delivered_;
  }
  return true;
}

Status CollNetLink::poll(int* work) {
  uint64_t before = 0;
  do {
    before = taken_;
    if (Status taken = take(work); !taken) return taken;
  } while (taken_ != before);
  while (deliver()) ++*work;
  return group_.failed() ? group_.error() : Status::ok();
}

}  // namespace jccl
