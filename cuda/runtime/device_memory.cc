// Memory of devices, and host memory that they use.
#include <cstring>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

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

Status exportMemory(void* memory, MemoryHandle& handle) {
  driver::IpcHandle own{};
  static_assert(sizeof own.bytes == sizeof handle.bytes);
  const Status status = statusOf("cuIpcGetMemHandle", driver().ipcExport(&own, addressOf(memory)));
  if (!status) return status;
  std::memcpy(handle.bytes, own.bytes, sizeof handle.bytes);
  handle.offset = 0;  // the handle refers to a whole allocation, and memory of DeviceHeap is a whole allocation
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
