#include "cuda/nvls/multicast_memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "cuda/driver/driver.h"
#include "cuda/nvls/nvls_kernels.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"
#include "cuda/runtime/virtual_memory.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

// Objects and the memory bound to them can be exported, also if all ranks are threads of one process. The driver's
// documentation leaves open whether an object without a handle type works (cuMulticastCreate). NCCL, MSCCL++ and
// PyTorch always set one.
constexpr bool kShareable = true;

// Counts the users of each multicast object's handle in this process. Ranks that are threads share one handle; the last
// of them releases it.
class Handles {
 public:
  static Handles& ofThisProcess() {
    static auto* handles = new Handles();  // never destroyed: communicators may end until the process does
    return *handles;
  }

  void hold(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    ++holders_[handle];
  }
  void release(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = holders_.find(handle);
    if (found == holders_.end() || --found->second > 0) return;
    holders_.erase(found);
    (void)driver().allocationRelease(handle);
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, int> holders_;
};

}  // namespace

MulticastMemory& MulticastMemory::operator=(MulticastMemory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  object_ = std::exchange(other.object_, 0);
  bytes_ = other.bytes_;
  allocation_ = std::exchange(other.allocation_, 0);
  isBound_ = std::exchange(other.isBound_, false);
  memory_ = std::exchange(other.memory_, nullptr);
  multicast_ = std::exchange(other.multicast_, nullptr);
  return *this;
}

Status MulticastMemory::supported() {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  if (driver().multicastCreate == nullptr) return driver::missing("cuMulticastCreate");
  int supported = 0;
  if (Status status = attributeOf(device, driver::DeviceAttribute::Multicast, supported); !status) return status;
  const std::string facts = "device=" + std::to_string(device) + ": ";
  if (supported == 0)
    return Status::transport(facts + "its driver has no multicast objects for it (NVSwitch, fabric manager)");
  const Status kernels = hasNvlsKernels();
  return kernels ? kernels : Status::transport(facts + kernels.message());
}

Status MulticastMemory::create(int devices, size_t bytes) {
  reset();
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  driver::MulticastProperties properties{};
  properties.devices = static_cast<unsigned>(devices);
  properties.bytes = bytes;
  properties.handleTypes = driver::kPosixDescriptor;
  const std::string facts = "devices=" + std::to_string(devices) + " " + bytesFact(bytes);
  // Use the minimum: the recommended granularity may be hundreds of MiB.
  size_t unit = 0, memoryUnit = 0;
  Status status = statusOf("cuMulticastGetGranularity",
                           driver().multicastGranularity(&unit, &properties, driver::kMinimumGranularity), facts);
  if (status) status = unitOfAllocations(device, kShareable, memoryUnit);
  if (!status) return status;
  unit = std::max(unit, memoryUnit);
  properties.bytes = (bytes + unit - 1) / unit * unit;
  driver::Allocation object = 0;
  status = statusOf("cuMulticastCreate", driver().multicastCreate(&object, &properties), facts);
  if (!status) return status;
  hold(object, properties.bytes);
  return status;
}

Status MulticastMemory::exportDescriptor(int& descriptor) const {
  return statusOf("cuMemExportToShareableHandle",
                  driver().allocationExport(&descriptor, object_, driver::kPosixDescriptor, 0), bytesFact(bytes_));
}

void MulticastMemory::open(uint64_t handle, size_t bytes) {
  reset();
  hold(handle, bytes);
}

Status MulticastMemory::import(int descriptor, size_t bytes) {
  reset();
  driver::Allocation object = 0;
  // The driver takes the number of the descriptor as a pointer value.
  void* number = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  const Status status =
      statusOf("cuMemImportFromShareableHandle", driver().allocationImport(&object, number, driver::kPosixDescriptor),
               bytesFact(bytes) + " descriptor=" + std::to_string(descriptor));
  if (status) hold(object, bytes);
  return status;
}

void MulticastMemory::hold(uint64_t handle, size_t bytes) {
  Handles::ofThisProcess().hold(handle);
  object_ = handle;
  bytes_ = bytes;
}

Status MulticastMemory::join() {
  driver::Device device = 0;
  Status status = statusOf("cuCtxGetDevice", driver().contextDevice(&device));
  if (!status) return status;
  return statusOf("cuMulticastAddDevice", driver().multicastAddDevice(object_, device),
                  "device=" + std::to_string(device));
}

Status MulticastMemory::bind() {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  const std::string facts = "device=" + std::to_string(device) + " " + bytesFact(bytes_);
  const driver::AllocationProperties properties = allocationOn(device, kShareable);
  size_t unit = 0;
  Status status = unitOfAllocations(device, kShareable, unit);
  driver::Allocation allocation = 0;
  if (status) {
    status = statusOf("cuMemCreate", driver().allocationCreate(&allocation, bytes_, &properties, 0), facts);
  }
  allocation_ = allocation;
  if (status) status = mapAllocation(allocation_, bytes_, unit, {userOn(device)}, facts, memory_);
  return status ? bindAndMap(allocation_, device, unit) : status;
}

Status MulticastMemory::bind(uint64_t allocation) {
  int device = 0;
  size_t unit = 0;
  Status status = currentDevice(device);
  if (status) status = unitOfAllocations(device, kShareable, unit);
  return status ? bindAndMap(allocation, device, unit) : status;
}

Status MulticastMemory::bindAndMap(uint64_t allocation, int device, size_t unit) {
  const std::string facts = "device=" + std::to_string(device) + " " + bytesFact(bytes_);
  const Status status =
      statusOf("cuMulticastBindMem", driver().multicastBind(object_, 0, allocation, 0, bytes_, 0), facts);
  isBound_ = status.isOk();
  return status ? mapAllocation(object_, bytes_, unit, {userOn(device)}, facts, multicast_) : status;
}

void MulticastMemory::leak() {
  object_ = allocation_ = 0;
  isBound_ = false;
  memory_ = multicast_ = nullptr;
}

void MulticastMemory::reset() {
  if (multicast_ != nullptr) (void)unmapAllocation(multicast_, bytes_);
  driver::Device device = 0;
  if (isBound_ && driver().contextDevice(&device) == driver::Result::Success) {
    (void)driver().multicastUnbind(object_, device, 0, bytes_);
  }
  if (memory_ != nullptr) (void)unmapAllocation(memory_, bytes_);
  if (allocation_ != 0) (void)driver().allocationRelease(allocation_);
  if (object_ != 0) Handles::ofThisProcess().release(object_);
  leak();
}

}  // namespace jccl::device
