#include "cuda/runtime/device_operation.h"

#include <algorithm>
#include <cstdio>

#include "cuda/kernels/element_class.h"
#include "cuda/runtime/argument_areas.h"

namespace jccl::device {
namespace {

bool shareKernel(const DeviceOperation& one, const DeviceOperation& other) {
  if (one.triesCopies || other.triesCopies) return false;
  if (one.isExchange() || other.isExchange()) return one.isExchange() && other.isExchange();
  const Operation &a = one.operation, &b = other.operation;
  return one.isInPlace() == other.isInPlace() && one.added == other.added && a.choice.protocol == b.choice.protocol &&
         elementClassOf(a.code.collective, a.code.type) == elementClassOf(b.code.collective, b.code.type);
}

bool anyOverlap(const std::vector<MemoryRange>& some, const std::vector<MemoryRange>& others) {
  return std::any_of(some.begin(), some.end(), [&](const MemoryRange& one) {
    return std::any_of(others.begin(), others.end(), [&](const MemoryRange& other) { return one.overlaps(other); });
  });
}

}  // namespace

std::string describe(const MemoryRange& memory) {
  char text[64];
  (void)std::snprintf(text, sizeof text, "address=0x%llx bytes=%zu",
                      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(memory.begin)),  // NOLINT
                      memory.bytes);
  return text;
}

void TouchedMemory::add(const DeviceOperation& one, int rank) {
  for (const PointToPointTask& task : one.tasks) {
    (task.kind == PointToPointTask::Kind::Send ? reads : writes).push_back({task.address, task.bytes});
  }
  if (one.isExchange()) return;
  const Operation& operation = one.operation;
  const size_t element = sizeOf(operation.code.type);
  // `all` is the bytes of all ranks' parts together, `own` those of this rank's part.
  const size_t all = operation.bytes;
  const size_t own =
      operation.counts != nullptr ? static_cast<size_t>(operation.counts[rank]) * element : operation.count * element;
  const bool gathers = operation.code.collective == Collective::AllGather;
  const bool scatters = operation.code.collective == Collective::ReduceScatter;
  const bool sends = operation.code.collective != Collective::Broadcast || rank == operation.root;
  const bool receives = operation.code.collective != Collective::Reduce || rank == operation.root;
  if (sends) reads.push_back({operation.send, scatters ? all : own});
  if (receives) writes.push_back({operation.recv, gathers ? all : own});
}

bool TouchedMemory::conflictsWith(const TouchedMemory& other) const {
  return anyOverlap(writes, other.writes) || anyOverlap(writes, other.reads) || anyOverlap(reads, other.writes);
}

std::vector<MemoryCopy> ownCopies(std::span<const DeviceOperation> operations) {
  std::vector<MemoryCopy> copies;
  for (const DeviceOperation& one : operations) {
    TouchedMemory touched;
    touched.add(one, 0);
    // The i-th send to oneself belongs to the i-th receive, and a collective reads and writes one range.
    for (size_t i = 0; i < touched.reads.size(); ++i) {
      const MemoryRange &from = touched.reads[i], &to = touched.writes[i];
      if (from.begin != to.begin && to.bytes != 0) {
        copies.push_back({const_cast<uint8_t*>(to.begin), from.begin, to.bytes});
      }
    }
  }
  return copies;
}

void ArgumentBytes::add(const DeviceOperation& one) {
  if (one.isExchange()) {
    tasks_ += one.tasks.size();
    return;
  }
  ++works_;
  if (one.operation.counts != nullptr) bytes_ += LaunchArguments::bytesFor<int64_t>(2 * size_);
  if (one.isInPlace()) bytes_ += LaunchArguments::bytesFor<InPlacePeer>(size_);
}

size_t ArgumentBytes::total() const {
  if (works_ != 0) return bytes_ + LaunchArguments::bytesFor<Work>(works_ - 1);
  return LaunchArguments::bytesFor<ExchangeTask>(tasks_) +
         LaunchArguments::bytesFor<ExchangeQueue>(std::min(tasks_, 2 * size_));
}

size_t argumentBytes(std::span<const DeviceOperation> operations, int size) {
  ArgumentBytes bytes(size);
  for (const DeviceOperation& one : operations) bytes.add(one);
  return bytes.total();
}

std::span<const std::span<const DeviceOperation>> GroupDivision::intoLaunches(std::span<const DeviceOperation> group,
                                                                              int rank, int size, size_t maxBytes) {
  launches_.clear();
  touched_.clear();
  ArgumentBytes bytes(size);
  size_t first = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    own_.clear();
    own_.add(group[i], rank);
    ArgumentBytes with = bytes;
    with.add(group[i]);
    const bool together = shareKernel(group[first], group[i]) && !own_.conflictsWith(touched_) &&
                          (!group[i].isCollective() || with.total() <= maxBytes);
    if (i != first && !together) {
      launches_.push_back(group.subspan(first, i - first));
      first = i;
      touched_.clear();
      bytes = ArgumentBytes(size);
    }
    touched_.add(group[i], rank);
    bytes.add(group[i]);
  }
  if (first < group.size()) launches_.push_back(group.subspan(first));
  return launches_;
}

}  // namespace jccl::device
