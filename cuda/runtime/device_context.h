// Devices, and the contexts in which the library uses them.
//
// Streams, events, kernels and memory belong to a context. The library works in a device's primary one, which applications of
// the CUDA runtime use, too. It is retained when the device is first used, and never released: kernels of the library may run
// until the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::device {

struct DeviceProperties {
  std::string name;
  int capability = 0;  // compute capability times ten
  int multiprocessors = 0;
  int syncDomains = 1;  // in each of which fences wait for its own kernels only
  size_t memoryBytes = 0;
  uint8_t uuid[16] = {};  // the same device has the same in every process
  int pciDomain = 0, pciBus = 0, pciDevice = 0;
  bool servedByMps = false;  // kernels of several processes run on it together, by an MPS server
};

// These need no context, and make none. An error where the driver cannot be used, or does not load this build's kernels.
Status countDevices(int& count);
// In a line, the driver that can be used: its version, the kernels', and what the library does without what it lacks.
std::string describeDriver();
Status describeDevice(int ordinal, DeviceProperties& properties);
Status attributeOf(int ordinal, driver::DeviceAttribute attribute, int& value);
// Whether kernels of a device could use memory of another one; of its own they can.
Status canReach(int ordinal, int other, bool& can);

// That of the calling thread's current context.
Status currentDevice(int& ordinal);
// Whether kernels of the current device can use memory of another device of this process; switches it on.
Status reachDevice(int other, bool& reaches);

Status primaryContext(int ordinal, driver::Context& context);
// Whether a context is the primary one of this device.
bool isPrimaryContext(driver::Context context, int ordinal);

// The calling thread works for the library on a device. Until its end,
// - the device's primary context is the thread's current one, whatever was: JCuda's applications have contexts of their own
// - the thread's capture mode is Relaxed: no call of the library, from querying an event to allocating, invalidates a capture
//   of the application's, of this thread or another (cuThreadExchangeStreamCaptureMode)
class DeviceGuard {
 public:
  explicit DeviceGuard(int ordinal);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  const Status& status() const { return status_; }

 private:
  Status enter(int ordinal);

  driver::CaptureMode mode_ = driver::CaptureMode::Relaxed;  // then what the thread had
  bool exchanged_ = false;
  bool pushed_ = false;
  Status status_;
};

}  // namespace jccl::device
