// The beginning and the end of every kernel.
#pragma once

#include <new>

#include "cuda/kernels/launch.h"
#include "cuda/primitives/wait.h"

namespace jccl::device {

// Begins a block's work; called by all its threads. Returns false if an operation of this rank has failed or the rank
// was aborted. So operations issued after a failure end at once, and touch no buffers: the application may have them
// back already. Also returns false if copy engines have executed the only operation of the launch, unless `always`.
JCCL_DEVICE bool beginBlock(WaitControl& wait, const DeviceChannel& channel, const LaunchControl& control,
                            bool always = false) {
  bool ends = false;
  if (simt::threadIndex() == 0) {
    const ControlWords& own = control.controls.words[simt::blockIndex()];
    const uint32_t abort = simt::loadRelaxed(&own.abort), result = simt::loadRelaxed(&own.result);
    const uint64_t now = simt::nanos();
    const bool failed = abort != 0 || result != 0;
    ends = failed || (!always && channel.copied == control.sequence);  // an earlier kernel wrote `copied`
    const uint64_t due = failed ? WaitControl::kOver : now;
    wait = {control.controls, channel.record, control.sequence, now, control.timeoutNanos, due};
    if (failed && result == 0) setResult(control.controls.words, control.controls.channels, abort);
  }
  return !simt::syncOr(1, static_cast<int>(simt::blockThreads()), ends);
}

// DeviceChannel::arrivals counts the blocks of the launch that have ended, plus kFailedBlock for each that failed.
constexpr uint32_t kFailedBlock = 1u << 16;

// Called by one thread of a block, for the whole block.
JCCL_DEVICE_CALL inline void reportEnd(const WaitControl& wait, DeviceChannel& first, const LaunchControl& control) {
  const uint32_t own = simt::loadShared(&wait.due) == WaitControl::kOver ? 1 + kFailedBlock : 1;
  uint32_t ended = own;
  if (simt::blockCount() != 1) {
    ended += simt::addOrdered(&first.arrivals, own);
    if (ended % kFailedBlock != simt::blockCount()) return;
    simt::storeRelaxed(&first.arrivals, uint32_t{0});
  }
  LaunchReport& report = *control.report;
  if (ended >= kFailedBlock && simt::loadRelaxed(&report.failed) == 0) {
    simt::storeRelease(&report.failed, control.sequence);
  }
  if (control.last != 0) simt::storeRelease(&report.ended, control.last);
}

// Ends a block's work; called by all its threads. The last block of the launch tells the host that the launch has
// ended. Between the blocks, arrivals order everything that they wrote before the report.
JCCL_DEVICE void endBlock(const WaitControl& wait, DeviceChannel* channels, const LaunchControl& control) {
  simt::syncBlock();
  if (simt::threadIndex() == 0) reportEnd(wait, *channels, control);
}

// Uninitialised storage for an object in shared memory.
template <class T>
struct Storage {
  alignas(T) unsigned char bytes[sizeof(T)];

  JCCL_DEVICE T& get() { return *reinterpret_cast<T*>(bytes); }
  // Called by one thread; the others must meet it at a barrier before they call get().
  template <class... Arguments>
  JCCL_DEVICE void make(Arguments&&... arguments) {
    new (bytes) T{static_cast<Arguments&&>(arguments)...};
  }
};

// Converts a pointer in a launch descriptor to an address: the pointer may be a place in InlineArguments.
template <class T>
JCCL_DEVICE const T* resolved(const T* pointer, const InlineArguments& inlined) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - 1;
  return offset < InlineArguments::kBytes ? reinterpret_cast<const T*>(inlined.bytes + offset) : pointer;
}

// Runs the works of a launch in which this block takes part, one after the other. `storage` and `wait` belong to the
// block. run(work) returns true if the work ended well; after a failure no further work begins.
template <class AnyLaunch, class Run>
JCCL_DEVICE void forWorks(const AnyLaunch& works, Storage<Work>& storage, WaitControl& wait, Run&& run) {
  const auto index = [&] { return static_cast<uint32_t>(wait.sequence - works.control.sequence); };
  const auto take = [&](const Work& work) {
    storage.make(work);
    Work& taken = storage.get();
    taken.counts = resolved(taken.counts, works.inlined);
    taken.displacements = resolved(taken.displacements, works.inlined);
    taken.peers = resolved(taken.peers, works.inlined);
  };
  if (simt::threadIndex() == 0) take(works);
  for (;;) {
    simt::syncBlock();
    if (simt::blockIndex() < storage.get().choice.channels && !run(storage.get())) return;
    if (index() == works.moreCount) return;
    simt::syncBlock();  // the next work overwrites this one in `storage`
    if (simt::threadIndex() == 0) {
      take(resolved(works.more, works.inlined)[index()]);
      ++wait.sequence;
      wait.startNanos = simt::nanos();
    }
  }
}

// Returns the number of collectives that the channel has run. The load is relaxed, not plain, because another thread
// may have written the number.
JCCL_DEVICE uint64_t operationsOf(const DeviceChannel& channel) { return simt::loadRelaxed(&channel.operations); }

// Adds to the number of collectives that the channel has run, which is in device memory. One thread calls this when the
// collectives have ended well.
JCCL_DEVICE void countOperations(DeviceChannel& channel, uint32_t collectives) {
  simt::storeRelaxed(&channel.operations, operationsOf(channel) + collectives);
}

}  // namespace jccl::device
