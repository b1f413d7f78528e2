// Memory of devices, memory of the host that they use, and what the driver knows of any address.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

// The value stays as it is where the driver knows none.
template <class Value>
Status attributeOf(const void* address, driver::PointerAttribute attribute, Value& value, bool& known) {
  Value found{};
  const driver::Result result = driver().pointerAttribute(&found, attribute, addressOf(address));
  known = result == driver::Result::Success;
  if (known) value = found;
  if (known || result == driver::Result::InvalidValue) return Status::ok();
  return statusOf("cuPointerGetAttribute", result, "attribute=" + std::to_string(static_cast<int>(attribute)));
}

std::string hex(const void* address) {
  std::array<char, 32> text;
  (void)std::snprintf(text.data(), text.size(), "%p", address);
  return text.data();
}

// Begin and size as the driver reports them: what does not lie within is another allocation's, or nobody's.
bool contains(const MemoryFacts& facts, const void* address, size_t bytes) {
  if (facts.bytes == 0) return true;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(facts.begin);
  return offset <= facts.bytes && bytes <= facts.bytes - offset;
}

}  // namespace

Status allocate(size_t bytes, void*& memory) {
  driver::Address address = 0;
  Status status = statusOf("cuMemAlloc", driver().memoryAllocate(&address, bytes), bytesFact(bytes));
  if (status) memory = pointerOf(address);
  return status;
}

Status release(void* memory) { return statusOf("cuMemFree", driver().memoryFree(addressOf(memory))); }

Status allocatePinned(size_t bytes, void*& memory) {
  constexpr unsigned kFlags = driver::kHostAllocPortable | driver::kHostAllocMapped;
  Status status = statusOf("cuMemHostAlloc", driver().hostAllocate(&memory, bytes, kFlags), bytesFact(bytes));
  if (status) std::memset(memory, 0, bytes);
  return status;
}

Status releasePinned(void* memory) { return statusOf("cuMemFreeHost", driver().hostFree(memory)); }

Status registerHost(void* memory, size_t bytes) {
  constexpr unsigned kFlags = driver::kHostRegisterPortable | driver::kHostRegisterMapped;
  driver::Result result = driver().hostRegister(memory, bytes, kFlags);
  if (result != driver::Result::Success) return statusOf("cuMemHostRegister", result, bytesFact(bytes));
  driver::Address mapped = 0;
  result = driver().hostDevicePointer(&mapped, memory, 0);
  if (result == driver::Result::Success && pointerOf(mapped) == memory) return Status::ok();
  (void)driver().hostUnregister(memory);
  if (result != driver::Result::Success) return statusOf("cuMemHostGetDevicePointer", result);
  return Status::transport(
      "this device uses memory of the host under another address than the host does; use host buffers");
}

Status unregisterHost(void* memory) { return statusOf("cuMemHostUnregister", driver().hostUnregister(memory)); }

Status describeMemory(const void* address, MemoryFacts& facts) {
  using Attribute = driver::PointerAttribute;
  facts = {};
  int device = 0;
  Status status = currentDevice(device);
  unsigned type = 0;
  if (status) status = attributeOf(address, Attribute::MemoryType, type, facts.known);
  if (!status || !facts.known) return status;
  facts.ofHost = type == driver::kMemoryOfHost;
  bool known = false;
  status = attributeOf(address, Attribute::DeviceOrdinal, facts.device, known);
  driver::Context context = nullptr;  // stays null for memory of pools, and for what cuMemMap has mapped
  if (status) status = attributeOf(address, Attribute::Context, context, known);
  driver::Address begin = 0;
  if (status) status = attributeOf(address, Attribute::RangeStart, begin, known);
  if (status && known) status = attributeOf(address, Attribute::RangeBytes, facts.bytes, known);
  int access = 0;
  if (status) status = attributeOf(address, Attribute::AccessFlags, access, known);
  if (!status) return status;
  facts.begin = pointerOf(begin);
  facts.ofOtherContext = context != nullptr && !isPrimaryContext(context, facts.device);
  // A driver that does not report access: a context has it to its own memory.
  facts.reachable = known ? access == driver::kAccessReadWrite
                          : context != nullptr && facts.device == device && !facts.ofOtherContext;
  return Status::ok();
}

Status checkMemory(const void* address, size_t bytes, const char* name) {
  if (bytes == 0) return Status::ok();
  MemoryFacts facts;
  if (Status status = describeMemory(address, facts); !status) return status;
  if (facts.known && facts.ofHost) return Status::ok();
  const bool fits = contains(facts, address, bytes);
  if (facts.known && !facts.ofOtherContext && facts.reachable && fits) return Status::ok();
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  const std::string here = "device=" + std::to_string(device);
  const std::string what = std::string(name) + "=" + hex(address) + " " + bytesFact(bytes);
  if (!facts.known) {
    return Status::invalid(what + ": the driver knows no memory there, expected memory of " + here +
                           "; allocate it with cudaMalloc or cuMemAlloc, or register memory of the host with "
                           "cudaHostRegister or cuMemHostRegister");
  }
  const std::string of = what + ": memory of device=" + std::to_string(facts.device);
  if (facts.ofOtherContext) {
    return Status::invalid(of +
                           " in a context of its own, as cuCtxCreate makes them, expected the device's primary "
                           "context; allocate it there (cuDevicePrimaryCtxRetain and cuCtxSetCurrent, or cudaMalloc)");
  }
  if (!facts.reachable) {
    return Status::invalid(of + ", which " + here +
                           " may not read and write, expected memory that it may; allocate it on " + here +
                           ", or give access: cudaMemPoolSetAccess for memory of a pool (cudaMallocAsync), "
                           "cuMemSetAccess for mapped memory (cuMemMap), cudaDeviceEnablePeerAccess for other memory");
  }
  return Status::invalid(of + ", allocated from " + hex(facts.begin) + " with " + bytesFact(facts.bytes) +
                         ", expected an allocation that has all of it; check the address and the count");
}

Status exportMemory(void* memory, MemoryHandle& handle) {
  driver::IpcHandle own{};
  static_assert(sizeof own.bytes == sizeof handle.bytes);
  const Status status = statusOf("cuIpcGetMemHandle", driver().ipcExport(&own, addressOf(memory)));
  if (!status) return status;
  std::memcpy(handle.bytes, own.bytes, sizeof handle.bytes);
  handle.offset = 0;  // a handle names the whole allocation; what DeviceHeap allocates is one
  return Status::ok();
}

Status openMemory(const MemoryHandle& handle, void*& memory) {
  driver::IpcHandle own{};
  std::memcpy(own.bytes, handle.bytes, sizeof own.bytes);
  driver::Address base = 0;
  Status status = statusOf("cuIpcOpenMemHandle", driver().ipcOpen(&base, own, driver::kIpcLazyPeerAccess));
  if (status) memory = pointerOf(base + handle.offset);
  return status;
}

Status closeMemory(void* memory) { return statusOf("cuIpcCloseMemHandle", driver().ipcClose(addressOf(memory))); }

}  // namespace jccl::device
