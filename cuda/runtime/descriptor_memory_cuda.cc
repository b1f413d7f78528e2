// Device memory behind file descriptors, by the driver's virtual memory management.
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_call_cuda.h"

namespace jccl::device {
namespace {

constexpr CUmemAllocationHandleType kHandle = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// What it takes of the driver.
struct Driver {
  PFN_cuDeviceGet_v2000 deviceGet = nullptr;
  PFN_cuDeviceGetAttribute_v2000 deviceGetAttribute = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 freeAddress = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 setAccess = nullptr;
  PFN_cuMemExportToShareableHandle_v10020 exportHandle = nullptr;
  PFN_cuMemImportFromShareableHandle_v10020 importHandle = nullptr;
  Status found;

  Driver() {
    find("cuDeviceGet", 2000, deviceGet);
    find("cuDeviceGetAttribute", 2000, deviceGetAttribute);
    find("cuMemGetAllocationGranularity", 10020, granularity);
    find("cuMemCreate", 10020, create);
    find("cuMemRelease", 10020, release);
    find("cuMemAddressReserve", 10020, reserve);
    find("cuMemAddressFree", 10020, freeAddress);
    find("cuMemMap", 10020, map);
    find("cuMemUnmap", 10020, unmap);
    find("cuMemSetAccess", 10020, setAccess);
    find("cuMemExportToShareableHandle", 10020, exportHandle);
    find("cuMemImportFromShareableHandle", 10020, importHandle);
  }

 private:
  template <class Function>
  void find(const char* name, unsigned version, Function& function) {
    if (found) found = findDriverCall(name, version, function);
  }
};

const Driver& driver() {
  static const Driver instance;
  return instance;
}

std::string facts(int device, size_t bytes) {
  return "device=" + std::to_string(device) + " bytes=" + std::to_string(bytes);
}

CUmemAllocationProp propertiesOn(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = kHandle;
  return properties;
}

Status unitOn(int device, size_t& unit) {
  const CUmemAllocationProp properties = propertiesOn(device);
  return driverStatus("cuMemGetAllocationGranularity",
                      driver().granularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
}

// The devices of this process that may use memory of this one.
std::vector<CUmemAccessDesc> usersOf(int device) {
  std::vector<CUmemAccessDesc> users;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int other = 0; other < count; ++other) {
    int reaches = other == device ? 1 : 0;
    if (other != device && cudaDeviceCanAccessPeer(&reaches, other, device) != cudaSuccess) reaches = 0;
    if (reaches == 0) continue;
    CUmemAccessDesc user{};
    user.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    user.location.id = other;
    user.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    users.push_back(user);
  }
  (void)cudaGetLastError();  // of a query that failed
  return users;
}

// Gives the allocation an address under which these devices use it.
Status mapAllocation(CUmemGenericAllocationHandle allocation, size_t bytes, size_t unit,
                     const std::vector<CUmemAccessDesc>& users, const std::string& what, void*& memory) {
  CUdeviceptr address = 0;
  Status status = driverStatus("cuMemAddressReserve", driver().reserve(&address, bytes, unit, CUdeviceptr{0}, 0), what);
  if (!status) return status;
  status = driverStatus("cuMemMap", driver().map(address, bytes, 0, allocation, 0), what);
  if (status) {
    status = driverStatus("cuMemSetAccess", driver().setAccess(address, bytes, users.data(), users.size()), what);
    if (!status) (void)driver().unmap(address, bytes);
  }
  if (!status) {
    (void)driver().freeAddress(address, bytes);
    return status;
  }
  memory = reinterpret_cast<void*>(address);
  return Status::ok();
}

}  // namespace

Status hasDescriptorMemory() {
  if (!driver().found) return driver().found;
  int ordinal = 0;
  if (Status status = currentDevice(ordinal); !status) return status;
  CUdevice device = 0;
  if (Status status = driverStatus("cuDeviceGet", driver().deviceGet(&device, ordinal)); !status) return status;
  struct Need {
    CUdevice_attribute attribute;
    const char* name;
  };
  for (const Need& need :
       {Need{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
        Need{CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "file descriptors of memory"}}) {
    int has = 0;
    Status status = driverStatus("cuDeviceGetAttribute", driver().deviceGetAttribute(&has, need.attribute, device));
    if (!status) return status;
    if (has == 0) return Status::transport("device=" + std::to_string(ordinal) + " has no " + need.name);
  }
  return Status::ok();
}

Status allocateForDescriptors(size_t bytes, DescriptorMemory& memory) {
  if (!driver().found) return driver().found;
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  size_t unit = 0;
  if (Status status = unitOn(device, unit); !status) return status;
  const size_t rounded = (bytes + unit - 1) / unit * unit;
  const std::string what = facts(device, rounded);
  const CUmemAllocationProp properties = propertiesOn(device);
  CUmemGenericAllocationHandle allocation = 0;
  Status status = driverStatus("cuMemCreate", driver().create(&allocation, rounded, &properties, 0), what);
  if (!status) return status;
  void* address = nullptr;
  status = mapAllocation(allocation, rounded, unit, usersOf(device), what, address);
  if (!status) {
    (void)driver().release(allocation);
    return status;
  }
  memory = {address, rounded, allocation};
  return Status::ok();
}

Status exportDescriptor(const DescriptorMemory& memory, int& descriptor) {
  if (!driver().found) return driver().found;
  return driverStatus("cuMemExportToShareableHandle", driver().exportHandle(&descriptor, memory.allocation, kHandle, 0),
                      "bytes=" + std::to_string(memory.bytes));
}

Status importDescriptor(int descriptor, size_t bytes, DescriptorMemory& memory) {
  if (!driver().found) return driver().found;
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  size_t unit = 0;
  if (Status status = unitOn(device, unit); !status) return status;
  const std::string what = facts(device, bytes) + " descriptor=" + std::to_string(descriptor);
  CUmemGenericAllocationHandle allocation = 0;
  // The driver takes the number of the descriptor in the place of a pointer.
  void* number = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  Status status =
      driverStatus("cuMemImportFromShareableHandle", driver().importHandle(&allocation, number, kHandle), what);
  if (!status) return status;
  CUmemAccessDesc user{};
  user.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  user.location.id = device;
  user.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  void* address = nullptr;
  status = mapAllocation(allocation, bytes, unit, {user}, what, address);
  (void)driver().release(allocation);  // what is mapped keeps it
  if (status) memory = {address, bytes, 0};
  return status;
}

Status unmapMemory(DescriptorMemory& memory) {
  if (memory.address == nullptr) return Status::ok();
  if (!driver().found) return driver().found;
  const auto address = reinterpret_cast<CUdeviceptr>(memory.address);
  const std::string what = "bytes=" + std::to_string(memory.bytes);
  Status status = driverStatus("cuMemUnmap", driver().unmap(address, memory.bytes), what);
  // The address stays taken if something is still mapped there.
  if (status) status = driverStatus("cuMemAddressFree", driver().freeAddress(address, memory.bytes), what);
  if (memory.allocation != 0) {
    const Status released = driverStatus("cuMemRelease", driver().release(memory.allocation), what);
    if (status) status = released;
  }
  memory = {};
  return status;
}

}  // namespace jccl::device
