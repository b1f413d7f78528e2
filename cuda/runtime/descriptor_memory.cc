// Device memory behind file descriptors, from the driver's virtual memory management.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"
#include "cuda/runtime/virtual_memory.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

// An attribute that a device must have.
struct Need {
  driver::DeviceAttribute attribute;
  const char* name;
};
constexpr Need kMappings{driver::DeviceAttribute::VirtualMemoryManagement, "virtual memory management"};
constexpr Need kDescriptors{driver::DeviceAttribute::DescriptorHandles, "file descriptors of memory"};

Status hasNeed(int device, const Need& need) {
  int has = 0;
  if (Status status = attributeOf(device, need.attribute, has); !status) return status;
  return has != 0 ? Status::ok() : Status::transport("device=" + std::to_string(device) + " has no " + need.name);
}

constexpr int kPinned = 1;    // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int kOnDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE

std::string factsOf(int device, size_t bytes) { return "device=" + std::to_string(device) + " " + bytesFact(bytes); }

}  // namespace

driver::AllocationProperties allocationOn(int device, bool shareable) {
  driver::AllocationProperties properties{};
  properties.type = kPinned;
  properties.handleTypes = shareable ? driver::kPosixDescriptor : 0;
  properties.location = {kOnDevice, device};
  return properties;
}

Status unitOfAllocations(int device, bool shareable, size_t& unit) {
  const driver::AllocationProperties properties = allocationOn(device, shareable);
  return statusOf("cuMemGetAllocationGranularity",
                  driver().allocationGranularity(&unit, &properties, driver::kRecommendedGranularity));
}

driver::MemoryAccess userOn(int device) { return {{kOnDevice, device}, driver::kAccessReadWrite}; }

Status mapAllocation(driver::Allocation allocation, size_t bytes, size_t unit,
                     const std::vector<driver::MemoryAccess>& users, const std::string& facts, void*& memory) {
  driver::Address address = 0;
  Status status = statusOf("cuMemAddressReserve", driver().addressReserve(&address, bytes, unit, 0, 0), facts);
  if (!status) return status;
  status = statusOf("cuMemMap", driver().memoryMap(address, bytes, 0, allocation, 0), facts);
  if (status) {
    status = statusOf("cuMemSetAccess", driver().memoryAccess(address, bytes, users.data(), users.size()), facts);
    if (!status) (void)driver().memoryUnmap(address, bytes);
  }
  if (!status) {
    (void)driver().addressFree(address, bytes);
    return status;
  }
  memory = pointerOf(address);
  return Status::ok();
}

Status unmapAllocation(void* memory, size_t bytes) {
  const std::string facts = bytesFact(bytes);
  Status status = statusOf("cuMemUnmap", driver().memoryUnmap(addressOf(memory), bytes), facts);
  // If the memory could not be unmapped, keep its address reserved.
  return status ? statusOf("cuMemAddressFree", driver().addressFree(addressOf(memory), bytes), facts) : status;
}

Status hasDescriptorMemory() {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  for (const Need& need : {kMappings, kDescriptors}) {
    if (Status status = hasNeed(device, need); !status) return status;
  }
  return Status::ok();
}

bool servesAdapters() {
  int device = 0, direct = 0;
  return currentDevice(device) && attributeOf(device, driver::DeviceAttribute::DirectRdmaOfVirtualMemory, direct) &&
         direct != 0;
}

namespace {

Status allocateOn(bool shareable, size_t bytes, DescriptorMemory& memory) {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  size_t unit = 0;
  if (Status status = unitOfAllocations(device, shareable, unit); !status) return status;
  const size_t rounded = (bytes + unit - 1) / unit * unit;
  const std::string facts = factsOf(device, rounded);
  driver::AllocationProperties properties = allocationOn(device, shareable);
  properties.gpuDirectRdma = servesAdapters() ? 1 : 0;
  driver::Allocation allocation = 0;
  Status status = statusOf("cuMemCreate", driver().allocationCreate(&allocation, rounded, &properties, 0), facts);
  if (!status) return status;
  void* address = nullptr;
  status = mapAllocation(allocation, rounded, unit, {userOn(device)}, facts, address);
  if (!status) {
    (void)driver().allocationRelease(allocation);
    return status;
  }
  memory = {address, rounded, allocation};
  return Status::ok();
}

}  // namespace

Status allocateForDescriptors(size_t bytes, DescriptorMemory& memory) { return allocateOn(true, bytes, memory); }

Status allocateMapped(size_t bytes, DescriptorMemory& memory) {
  int device = 0;
  Status status = currentDevice(device);
  if (status) status = hasNeed(device, kMappings);
  if (status) status = allocateOn(false, bytes, memory);
  if (!status) return status;
  (void)driver().allocationRelease(std::exchange(memory.allocation, 0));  // the mapping keeps the allocation alive
  return Status::ok();
}

Status letUse(const DescriptorMemory& memory, int device) {
  const driver::MemoryAccess user = userOn(device);
  return statusOf("cuMemSetAccess", driver().memoryAccess(addressOf(memory.address), memory.bytes, &user, 1),
                  factsOf(device, memory.bytes));
}

Status exportDescriptor(const DescriptorMemory& memory, int& descriptor) {
  return statusOf("cuMemExportToShareableHandle",
                  driver().allocationExport(&descriptor, memory.allocation, driver::kPosixDescriptor, 0),
                  bytesFact(memory.bytes));
}

Status exportMappedDescriptor(void* memory, int& descriptor) {
  driver::Allocation allocation = 0;
  Status status = statusOf("cuMemRetainAllocationHandle", driver().allocationRetain(&allocation, memory));
  if (!status) return status;
  status = statusOf("cuMemExportToShareableHandle",
                    driver().allocationExport(&descriptor, allocation, driver::kPosixDescriptor, 0));
  (void)driver().allocationRelease(allocation);  // the mapping keeps the allocation alive
  return status;
}

Status importDescriptor(int descriptor, size_t bytes, DescriptorMemory& memory) {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  size_t unit = 0;
  if (Status status = unitOfAllocations(device, true, unit); !status) return status;
  const std::string facts = factsOf(device, bytes) + " descriptor=" + std::to_string(descriptor);
  driver::Allocation allocation = 0;
  // The driver takes the number of the descriptor as a pointer value.
  void* number = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  Status status = statusOf("cuMemImportFromShareableHandle",
                           driver().allocationImport(&allocation, number, driver::kPosixDescriptor), facts);
  if (!status) return status;
  void* address = nullptr;
  status = mapAllocation(allocation, bytes, unit, {userOn(device)}, facts, address);
  (void)driver().allocationRelease(allocation);  // the mapping keeps the allocation alive
  if (status) memory = {address, bytes, 0};
  return status;
}

Status unmapMemory(DescriptorMemory& memory) {
  if (memory.address == nullptr) return Status::ok();
  Status status = unmapAllocation(memory.address, memory.bytes);
  if (memory.allocation != 0) {
    const Status released =
        statusOf("cuMemRelease", driver().allocationRelease(memory.allocation), bytesFact(memory.bytes));
    if (status) status = released;
  }
  memory = {};
  return status;
}

}  // namespace jccl::device
