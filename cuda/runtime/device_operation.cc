#include "cuda/runtime/device_operation.h"

#include <algorithm>

#include "cuda/kernels/element_class.h"
#include "cuda/runtime/argument_areas.h"

namespace jccl::device {
namespace {

bool shareKernel(const DeviceOperation& one, const DeviceOperation& other) {
  if (one.isExchange() || other.isExchange()) return one.isExchange() && other.isExchange();
  const Operation &a = one.operation, &b = other.operation;
  return one.isInPlace() == other.isInPlace() && one.isNvls() == other.isNvls() &&
         a.choice.protocol == b.choice.protocol &&
         elementClassOf(a.code.collective, a.code.type) == elementClassOf(b.code.collective, b.code.type);
}

bool anyOverlap(const std::vector<MemoryRange>& some, const std::vector<MemoryRange>& others) {
  return std::any_of(some.begin(), some.end(), [&](const MemoryRange& one) {
    return std::any_of(others.begin(), others.end(), [&](const MemoryRange& other) { return one.overlaps(other); });
  });
}

}  // namespace

void TouchedMemory::add(const DeviceOperation& one, int rank) {
  for (const PointToPointTask& task : one.tasks) {
    (task.kind == PointToPointTask::Kind::Send ? reads : writes).push_back({task.address, task.bytes});
  }
  if (one.isExchange()) return;
  const Operation& operation = one.operation;
  const size_t element = sizeOf(operation.code.type);
  // Of the ranks' parts together, and of this rank's.
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

size_t argumentBytes(std::span<const DeviceOperation> operations, int size) {
  const size_t n = static_cast<size_t>(size);
  size_t bytes = 0, tasks = 0;
  for (const DeviceOperation& one : operations) {
    tasks += one.tasks.size();
    if (one.isExchange()) continue;
    if (one.operation.counts != nullptr) bytes += LaunchArguments::bytesFor<int64_t>(2 * n);
    if (one.isInPlace()) bytes += LaunchArguments::bytesFor<InPlacePeer>(n);
  }
  if (operations.front().isExchange()) {
    return LaunchArguments::bytesFor<ExchangeTask>(tasks) +
           LaunchArguments::bytesFor<ExchangeQueue>(std::min(tasks, 2 * n));
  }
  return bytes + LaunchArguments::bytesFor<Work>(operations.size() - 1);
}

std::vector<std::span<const DeviceOperation>> intoLaunches(std::span<const DeviceOperation> group, int rank, int size,
                                                           size_t maxBytes) {
  std::vector<std::span<const DeviceOperation>> launches;
  TouchedMemory touched;
  size_t first = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    TouchedMemory own;
    own.add(group[i], rank);
    const bool together =
        i != first && shareKernel(group[first], group[i]) && !own.conflictsWith(touched) &&
        (!group[i].isCollective() || argumentBytes(group.subspan(first, i + 1 - first), size) <= maxBytes);
    if (i != first && !together) {
      launches.push_back(group.subspan(first, i - first));
      first = i;
      touched = {};
    }
    touched.add(group[i], rank);
  }
  if (first < group.size()) launches.push_back(group.subspan(first));
  return launches;
}

}  // namespace jccl::device
