#include "cuda/runtime/device_context.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>

#include "cuda/driver/driver.h"
#include "cuda/kernels/image.h"
#include "cuda/runtime/device_api.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

constexpr int kMaxNameLength = 256;

// Returns an error if the driver does not load the kernels of this build.
Status loadsKernels() {
  const int needed = versionOfImages() / 1000 * 1000;
  if (!compilesKernels() || hasPtx()) return Status::ok();
  return {Code::System, "NVIDIA's driver is for CUDA " + driver::describeVersion(driver().version) +
                            ", and this build's kernels are of CUDA " + driver::textOfVersion(versionOfImages()) +
                            ", expected a driver for CUDA " + driver::describeVersion(needed) +
                            " or later: install one, or use a build made by nvcc of CUDA 12"};
}

std::string deviceFact(int ordinal) { return "device=" + std::to_string(ordinal); }

struct KnownDevice {
  driver::Device handle = 0;
  // A mutex for each device: creating a context may wait for kernels of another device.
  std::mutex retaining;
  std::atomic<driver::Context> context{nullptr};
};

// The devices that this process can see, fixed once the driver is initialised.
struct Devices {
  Status status;
  std::deque<KnownDevice> all;

  Devices() : status(driver().status) {
    int count = 0;
    if (status) status = loadsKernels();
    if (status) status = statusOf("cuDeviceGetCount", driver().deviceCount(&count));
    for (int i = 0; status && i < count; ++i) {
      status = statusOf("cuDeviceGet", driver().deviceGet(&all.emplace_back().handle, i), deviceFact(i));
    }
  }

  // Never destroyed: threads may use devices until the process ends.
  static Devices& ofThisProcess() {
    static auto* devices = new Devices();
    return *devices;
  }
};

Status find(int ordinal, KnownDevice*& device) {
  Devices& devices = Devices::ofThisProcess();
  if (!devices.status) return devices.status;
  const int count = static_cast<int>(devices.all.size());
  if (ordinal < 0 || ordinal >= count) {
    return Status::invalid(deviceFact(ordinal) + ", expected a device below " + std::to_string(count) +
                           ", which this process can see; check CUDA_VISIBLE_DEVICES");
  }
  device = &devices.all[ordinal];
  return Status::ok();
}

}  // namespace

bool compilesKernels() { return driver().status.isOk() && driver().version < versionOfImages() / 1000 * 1000; }

Status countDevices(int& count) {
  const Devices& devices = Devices::ofThisProcess();
  count = devices.status ? static_cast<int>(devices.all.size()) : 0;
  return devices.status;
}

std::vector<int> allDevices() {
  int count = 0;
  (void)countDevices(count);
  std::vector<int> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string describeDriver() {
  std::string text = "driver for CUDA " + driver::describeVersion(driver().version) + ", kernels of CUDA " +
                     driver::textOfVersion(versionOfImages());
  if (compilesKernels()) text += ", which the driver compiles from PTX";
  for (const driver::Driver::Lack& lack : driver().lacks) {
    text += std::string("; without ") + lack.name + " of CUDA " + driver::describeVersion(lack.version) + " " +
            lack.without;
  }
  return text;
}

Status attributeOf(int ordinal, driver::DeviceAttribute attribute, int& value) {
  KnownDevice* device = nullptr;
  if (Status status = find(ordinal, device); !status) return status;
  const driver::Result result = driver().deviceAttribute(&value, attribute, device->handle);
  if (result == driver::Result::Success) return Status::ok();
  return statusOf("cuDeviceGetAttribute", result,
                  deviceFact(ordinal) + " attribute=" + std::to_string(static_cast<int>(attribute)));
}

Status describeDevice(int ordinal, DeviceProperties& properties) {
  KnownDevice* device = nullptr;
  if (Status status = find(ordinal, device); !status) return status;
  const std::string fact = deviceFact(ordinal);
  char name[kMaxNameLength] = {};
  Status status = statusOf("cuDeviceGetName", driver().deviceName(name, sizeof name, device->handle), fact);
  if (status) {
    status = statusOf("cuDeviceTotalMem", driver().deviceMemory(&properties.memoryBytes, device->handle), fact);
  }
  driver::Uuid uuid{};
  if (status) status = statusOf("cuDeviceGetUuid", driver().deviceUuid(&uuid, device->handle), fact);
  int major = 0, minor = 0;
  struct Wanted {
    driver::DeviceAttribute attribute;
    int& value;
  };
  using Attribute = driver::DeviceAttribute;
  for (const Wanted& wanted :
       {Wanted{Attribute::CapabilityMajor, major}, Wanted{Attribute::CapabilityMinor, minor},
        Wanted{Attribute::MultiprocessorCount, properties.multiprocessors},
        Wanted{Attribute::SyncDomainCount, properties.syncDomains},
        Wanted{Attribute::PciDomainId, properties.pciDomain}, Wanted{Attribute::PciBusId, properties.pciBus},
        Wanted{Attribute::PciDeviceId, properties.pciDevice}}) {
    if (status) status = attributeOf(ordinal, wanted.attribute, wanted.value);
  }
  if (!status) return status;
  properties.name = name;
  properties.capability = 10 * major + minor;
  static_assert(sizeof properties.uuid == sizeof uuid.bytes);
  std::memcpy(properties.uuid, uuid.bytes, sizeof properties.uuid);
  int mps = 0;
  // A driver that does not know the attribute counts as one without an MPS server.
  const driver::Result result = driver().deviceAttribute(&mps, Attribute::MpsEnabled, device->handle);
  properties.servedByMps = result == driver::Result::Success && mps != 0;
  return result == driver::Result::InvalidValue ? Status::ok() : statusOf("cuDeviceGetAttribute", result, fact);
}

Status canReach(int ordinal, int other, bool& can) {
  can = ordinal == other;  // cuDeviceCanAccessPeer returns false for the device itself
  if (can) return Status::ok();
  KnownDevice *device = nullptr, *peer = nullptr;
  if (Status status = find(ordinal, device); !status) return status;
  if (Status status = find(other, peer); !status) return status;
  int found = 0;
  const driver::Result result = driver().deviceCanAccessPeer(&found, device->handle, peer->handle);
  can = result == driver::Result::Success && found != 0;
  if (result == driver::Result::Success) return Status::ok();
  return statusOf("cuDeviceCanAccessPeer", result, deviceFact(ordinal) + " peer=" + std::to_string(other));
}

Status currentDevice(int& ordinal) {
  Devices& devices = Devices::ofThisProcess();
  if (!devices.status) return devices.status;
  driver::Device handle = 0;
  const driver::Result result = driver().contextDevice(&handle);
  if (result == driver::Result::InvalidContext) {
    return Status::invalid(
        "the calling thread has no current context, expected that of a device; hold a DeviceGuard, or call "
        "cuCtxSetCurrent first");
  }
  if (result != driver::Result::Success) return statusOf("cuCtxGetDevice", result);
  for (size_t i = 0; i < devices.all.size(); ++i) {
    if (devices.all[i].handle != handle) continue;
    ordinal = static_cast<int>(i);
    return Status::ok();
  }
  return Status::internal("cuCtxGetDevice: handle=" + std::to_string(handle) + ", expected one of cuDeviceGet's");
}

Status reachDevice(int other, bool& reaches) {
  reaches = false;
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  bool can = false;
  if (Status status = canReach(device, other, can); !status) return status;
  if (can && device != other) {
    driver::Context peer = nullptr;
    if (Status status = primaryContext(other, peer); !status) return status;
    const driver::Result result = driver().enablePeerAccess(peer, 0);
    if (result != driver::Result::Success && result != driver::Result::PeerAccessAlreadyEnabled) {
      return statusOf("cuCtxEnablePeerAccess", result, deviceFact(device) + " peer=" + std::to_string(other));
    }
  }
  reaches = can;
  return Status::ok();
}

Status primaryContext(int ordinal, driver::Context& context) {
  KnownDevice* device = nullptr;
  if (Status status = find(ordinal, device); !status) return status;
  context = device->context.load(std::memory_order_acquire);
  if (context != nullptr) return Status::ok();
  const std::lock_guard lock(device->retaining);
  context = device->context.load(std::memory_order_relaxed);
  if (context != nullptr) return Status::ok();
  driver::Context retained = nullptr;
  const driver::Result result = driver().primaryContext(&retained, device->handle);
  if (result != driver::Result::Success) {
    return statusOf("cuDevicePrimaryCtxRetain", result, deviceFact(ordinal));
  }
  device->context.store(retained, std::memory_order_release);
  context = retained;
  return Status::ok();
}

bool isPrimaryContext(driver::Context context, int ordinal) {
  KnownDevice* device = nullptr;
  if (context == nullptr || !find(ordinal, device)) return false;
  if (device->context.load(std::memory_order_acquire) == nullptr) {
    unsigned flags = 0;
    int active = 0;
    // primaryContext() below would create a missing primary context. If there is none, `context` is another one.
    if (driver().primaryContextState(device->handle, &flags, &active) != driver::Result::Success || active == 0) {
      return false;
    }
  }
  driver::Context primary = nullptr;
  return primaryContext(ordinal, primary) && primary == context;
}

Status LaunchGuard::enter(int ordinal) {
  if (!driver().status) return driver().status;
  driver::Context primary = nullptr, current = nullptr;
  if (Status status = primaryContext(ordinal, primary); !status) return status;
  driver::Result result = driver().currentContext(&current);
  if (result != driver::Result::Success) return statusOf("cuCtxGetCurrent", result, deviceFact(ordinal));
  if (current == primary) return Status::ok();
  result = driver().pushContext(primary);
  if (result != driver::Result::Success) return statusOf("cuCtxPushCurrent", result, deviceFact(ordinal));
  pushed_ = true;
  return Status::ok();
}

LaunchGuard::~LaunchGuard() {
  driver::Context own = nullptr;
  if (pushed_) (void)driver().popContext(&own);
}

DeviceGuard::DeviceGuard(int ordinal) : status_(enter(ordinal)) {}

// Sets the capture mode first, because creating a context is also a call that a capture could forbid.
Status DeviceGuard::enter(int ordinal) {
  if (!driver().status) return driver().status;
  driver::Result result = driver().exchangeCaptureMode(&mode_);
  if (result != driver::Result::Success) return statusOf("cuThreadExchangeStreamCaptureMode", result);
  exchanged_ = true;
  driver::Context context = nullptr;
  if (Status status = primaryContext(ordinal, context); !status) return status;
  result = driver().pushContext(context);
  if (result != driver::Result::Success) return statusOf("cuCtxPushCurrent", result, deviceFact(ordinal));
  pushed_ = true;
  return Status::ok();
}

DeviceGuard::~DeviceGuard() {
  driver::Context own = nullptr;
  if (pushed_) (void)driver().popContext(&own);
  if (exchanged_) (void)driver().exchangeCaptureMode(&mode_);
}

}  // namespace jccl::device
