// How every kernel begins and ends.
#pragma once

#include <new>

#include "cuda/kernels/launch.h"
#include "cuda/primitives/wait.h"

namespace jccl::device {

// Called by all threads. Returns whether there is anything to do: a rank whose operation has failed before, or which was aborted,
// begins nothing. What was issued behind the failure ends at once, and touches no memory that the application has back.
JCCL_DEVICE bool beginBlock(WaitControl& wait, const DeviceChannel& channel, const LaunchControl& control) {
  bool failed = false;
  if (simt::threadIndex() == 0) {
    const ControlWords& own = control.controls.words[simt::blockIndex()];
    const uint32_t abort = simt::loadRelaxed(&own.abort), result = simt::loadRelaxed(&own.result);
    const uint64_t now = simt::nanos();
    wait = {control.controls, channel.record, control.sequence, now, control.timeoutNanos, now};
    failed = abort != 0 || result != 0;
    if (failed && result == 0) setResult(control.controls.words, control.controls.channels, abort);
  }
  return !simt::syncOr(1, static_cast<int>(simt::blockThreads()), failed);
}

// Storage for an object in shared memory, which is not initialised.
template <class T>
struct Storage {
  alignas(T) unsigned char bytes[sizeof(T)];

  JCCL_DEVICE T& get() { return *reinterpret_cast<T*>(bytes); }
  // By one thread; the others have to meet it before they get().
  template <class... Arguments>
  JCCL_DEVICE void make(Arguments&&... arguments) {
    new (bytes) T{static_cast<Arguments&&>(arguments)...};
  }
};

// A pointer of a launch as its kernel uses it: see InlineArguments.
template <class T>
JCCL_DEVICE const T* resolved(const T* pointer, const InlineArguments& inlined) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - 1;
  return offset < InlineArguments::kBytes ? reinterpret_cast<const T*>(inlined.bytes + offset) : pointer;
}

// The works of a launch that this block has a part in, one after the other; `storage` and `wait` are the block's own.
// run(work) returns whether it ended well; after a failure no further one begins.
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
    simt::syncBlock();  // before the next takes the place of this one
    if (simt::threadIndex() == 0) {
      take(resolved(works.more, works.inlined)[index()]);
      ++wait.sequence;
      wait.startNanos = simt::nanos();
    }
  }
}

// How many collectives the channel has run; another thread may have counted the last.
JCCL_DEVICE uint64_t operationsOf(const DeviceChannel& channel) { return simt::loadRelaxed(&channel.operations); }

// Called by one thread when so many have ended well on this channel. `operations` advances on the device.
JCCL_DEVICE void countOperations(DeviceChannel& channel, uint32_t collectives) {
  simt::storeRelaxed(&channel.operations, operationsOf(channel) + collectives);
}

}  // namespace jccl::device
