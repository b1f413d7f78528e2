// All-gathers and all-to-alls by copy engines, which occupy no multiprocessor: each rank copies out of the symmetric
// windows of its peers, between two meetings of all ranks. See meet_kernel.h.
//
// The kernel of the operation is launched behind them all the same. It does nothing if the copies have done the work,
// and does the work if any rank uses other memory.
#include <algorithm>
#include <vector>

#include "cuda/kernels/registry.h"
#include "cuda/runtime/device_issuing.h"

namespace jccl::device {
namespace {

// The memory from which all ranks copy. For an all-gather in place that is the output, of which each rank has filled its
// part.
struct Source {
  MemoryRange memory;
  size_t part;  // bytes that one rank sends to another
  bool inPlace;
  bool usable;
};

Source sourceOf(const DeviceOperation& one, int rank, int size) {
  const Operation& operation = one.operation;
  const size_t part = operation.count * sizeOf(operation.code.type), whole = part * static_cast<size_t>(size);
  if (operation.code.collective == Collective::AllToAll) {
    const MemoryRange input{operation.send, whole};
    return {input, part, false, !input.overlaps({operation.recv, whole})};
  }
  const bool inPlace = operation.send == operation.recv + static_cast<size_t>(rank) * part;
  return {inPlace ? MemoryRange{operation.recv, whole} : MemoryRange{operation.send, part}, part, inPlace, true};
}

// Returns the copies by which this rank gets its output. Ranks begin with different peers, so that they do not all read
// one memory at the same time.
std::vector<MemoryCopy> copiesOf(const DeviceOperation& one, const Source& source, const WindowPlace& place, int rank,
                                 int size) {
  const bool toAll = one.operation.code.collective == Collective::AllToAll;
  std::vector<MemoryCopy> copies;
  for (int i = 0; i < size; ++i) {
    const size_t peer = static_cast<size_t>((rank + i) % size);
    const size_t skipped = (toAll ? static_cast<size_t>(rank) : source.inPlace ? peer : 0) * source.part;
    const auto* from =
        (i == 0 ? source.memory.begin : reinterpret_cast<const uint8_t*>((*place.here)[peer] + place.offset)) + skipped;
    uint8_t* to = one.operation.recv + peer * source.part;
    if (to != from) copies.push_back({to, from, source.part});
  }
  return copies;
}

}  // namespace

// Returns true if all ranks try copies for the operation. All ranks get the same result.
bool DeviceIssuing::canCopy(OperationCode code) const {
  return registration_.windows().everUsed() && config_.size > 1 && config_.size <= kMaxLinks + 1 &&
         (code.collective == Collective::AllGather || code.collective == Collective::AllToAll);
}

// Puts the meetings and the copies on the stream, and lets the kernel that follows find out whether it has anything to
// do. After a failure of the first meeting the copies still run: they only write to the output, which the application
// gets back when that kernel has ended.
Status DeviceIssuing::meetAndCopy(const DeviceOperation& one, LaunchControl& control, const LaunchTarget& target) {
  const Source source = sourceOf(one, config_.rank, config_.size);
  WindowPlace place = registration_.windows().find(source.memory);
  if (!source.usable || !isReadable(place)) place = {};
  const Operation& operation = one.operation;
  MeetLaunch meet{};
  meet.rank = config_.rank;
  meet.size = config_.size;
  meet.channels = connections_.channels();
  meet.control = control;
  meet.control.last = 0;
  meet.descriptors = connections_.segment().as<ExchangeDescriptor>();
  for (int peer = 0; peer < config_.size; ++peer) {
    if (peer != config_.rank) meet.peers[peer] = reinterpret_cast<ExchangeDescriptor*>(connections_.segmentOf(peer));
  }
  meet.fingerprint = operation.fingerprint ^ fingerprintOf(0, operation.code, operation.count, operation.root);
  meet.place = place.window == 0 ? Work::kOtherMemory
                                 : std::max(place.print() ^ (source.inPlace ? 2u : 0u), Work::kOtherMemory + 1);
  const auto launch = [&] {
    return launchKernel(config_.device, meetKernel(), &meet, 1, config_.threads, target.stream);
  };
  Status status = launch();
  if (!status || place.window == 0) return status;
  {
    const DeviceGuard guard(config_.device);
    status = guard.status();
    for (const MemoryCopy& copy : copiesOf(one, source, place, config_.rank, config_.size)) {
      if (status) status = copyAsync(copy.to, copy.from, copy.bytes, target.stream);
    }
  }
  meet.afterCopies = 1;
  return status ? launch() : status;
}

}  // namespace jccl::device
