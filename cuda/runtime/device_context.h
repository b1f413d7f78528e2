// Devices, and the contexts in which the library uses them.
//
// Streams, events, kernels and memory belong to a context. The library works in a device's primary context, which
// applications of the CUDA runtime also use. It is retained when the device is first used and never released, because
// kernels of the library may run until the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::device {

struct DeviceProperties {
  std::string name;
  int capability = 0;  // 10 x compute capability
  int multiprocessors = 0;
  int syncDomains = 1;  // memory synchronization domains; a fence waits only for kernels of its own domain
  size_t memoryBytes = 0;
  uint8_t uuid[16] = {};  // identifies the device in every process
  int pciDomain = 0, pciBus = 0, pciDevice = 0;
  // An MPS server runs kernels of several processes on the device together.
  bool servedByMps = false;
};

// These functions need no context and create none. They return an error if the driver cannot be used or does not load
// this build's kernels.
Status countDevices(int& count);
// Returns the numbers of all devices of this process.
std::vector<int> allDevices();
// Describes the driver in one line: its version, the version of the kernels, and how the library works without calls
// that the driver lacks.
std::string describeDriver();
Status describeDevice(int ordinal, DeviceProperties& properties);
Status attributeOf(int ordinal, driver::DeviceAttribute attribute, int& value);
// Sets `can` to true if kernels of device `ordinal` could use memory of device `other`; always true for its own.
Status canReach(int ordinal, int other, bool& can);

// Returns the device of the calling thread's current context.
Status currentDevice(int& ordinal);
// Enables access of the current device's kernels to memory of device `other`. Sets `reaches` to false if the hardware
// does not allow the access.
Status reachDevice(int other, bool& reaches);

Status primaryContext(int ordinal, driver::Context& context);
// Returns true if the context is the primary one of the device.
bool isPrimaryContext(driver::Context context, int ordinal);

// Makes a device's primary context current on the calling thread while the guard exists. For launches, waits of streams
// and records of events only: captures forbid none of these. All other calls need a DeviceGuard.
class LaunchGuard {
 public:
  explicit LaunchGuard(int ordinal) : status_(enter(ordinal)) {}
  ~LaunchGuard();
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  const Status& status() const { return status_; }

 private:
  Status enter(int ordinal);

  bool pushed_ = false;
  Status status_;
};

// Lets the calling thread work for the library on a device. While the guard exists,
// - the device's primary context is the thread's current one, whatever it was before: applications of JCuda have
//   contexts of their own;
// - the thread's capture mode is Relaxed. Then no call of the library, from querying an event to allocating,
//   invalidates a capture of the application on this or another thread (cuThreadExchangeStreamCaptureMode).
class DeviceGuard {
 public:
  explicit DeviceGuard(int ordinal);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  const Status& status() const { return status_; }

 private:
  Status enter(int ordinal);

  // The mode to set; after enter(): the thread's previous mode, which the destructor restores.
  driver::CaptureMode mode_ = driver::CaptureMode::Relaxed;
  bool exchanged_ = false;
  bool pushed_ = false;
  Status status_;
};

}  // namespace jccl::device
