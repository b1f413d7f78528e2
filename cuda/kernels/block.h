// How every kernel begins and ends.
#pragma once

#include "cuda/kernels/launch.h"
#include "cuda/primitives/wait.h"

namespace jccl::device {

// Called by all threads. Returns whether there is anything to do: a rank whose operation has failed before begins nothing,
// so that what was issued behind the failure ends at once.
JCCL_DEVICE bool beginBlock(WaitControl& wait, const DeviceChannel& channel, const LaunchControl& control) {
  const bool failed = simt::loadRelaxed(control.result) != 0;
  if (simt::threadIndex() == 0) {
    wait = {control.abort, control.result, channel.record, control.sequence, simt::nanos(), control.timeoutNanos};
  }
  return !simt::syncOr(1, static_cast<int>(simt::blockThreads()), failed);
}

// Called by one thread when a collective has ended well on this channel. `operations` advances on the device.
JCCL_DEVICE void countOperation(DeviceChannel& channel) {
  simt::storeRelaxed(&channel.operations, channel.operations + 1);
}

}  // namespace jccl::device
