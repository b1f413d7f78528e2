// Calls of the emulated driver for memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "base/page.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/device/multicast_objects.h"

namespace jccl::emulator::calls {
namespace {

constexpr size_t kPageBytes = 4096;

GpuMemory& memoryOfGpus() { return GpuMemory::ofThisProcess(); }
MulticastObjects& multicasts() { return MulticastObjects::ofThisProcess(); }

// Handles of memory and of multicast objects are descriptors.
int descriptorOf(Allocation allocation) { return static_cast<int>(allocation) - 1; }
Allocation allocationOf(int fd) { return static_cast<Allocation>(fd) + 1; }

void* pointerOf(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }
Address addressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// Host memory that devices may use.
struct HostMemory {
  struct Range {
    size_t bytes;
    bool registered;  // false: allocated by the driver
    uint64_t id;
  };
  uint64_t lastId = uint64_t{1} << 32;  // differs from the ids of device memory
  std::mutex mutex;
  std::map<uintptr_t, Range> ranges;

  // Returns the last range that overlaps these bytes.
  std::map<uintptr_t, Range>::iterator overlapping(uintptr_t begin, size_t bytes) {
    auto after = ranges.lower_bound(begin + bytes);
    if (after == ranges.begin()) return ranges.end();
    --after;
    return after->first + after->second.bytes > begin ? after : ranges.end();
  }
};

HostMemory& hostMemory() {
  static auto* memory = new HostMemory();
  return *memory;
}

// Allocations that network adapters may access (GPUDirect RDMA), by the inodes of their descriptors.
class ForAdapters {
 public:
  void note(int fd, bool is) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0) return;
    const std::lock_guard lock(mutex_);
    if (is) {
      numbers_.insert(facts.st_ino);
    } else {
      numbers_.erase(facts.st_ino);  // a freed allocation with the same inode number may be in the set
    }
  }
  bool has(ino_t number) {
    const std::lock_guard lock(mutex_);
    return numbers_.contains(number);
  }

 private:
  std::mutex mutex_;
  std::set<ino_t> numbers_;
};

ForAdapters& forAdapters() {
  static auto* allocations = new ForAdapters();
  return *allocations;
}

// Waits for the kernels of all devices that use the current context's memory: calls that allocate, free or open memory
// change the page tables of all of them.
Result waitsForUsers(const char* call) {
  const Context context = EmulatedDriver::current();
  if (context == nullptr) return Result::InvalidContext;
  return EmulatedDriver::waits(memoryOfGpus().usersOfContext(context->number), call);
}

}  // namespace

Result memoryAllocate(Address* address, size_t bytes) {
  if (const Result result = waitsForUsers("cuMemAlloc"); result != Result::Success) return result;
  if (bytes == 0) return Result::InvalidValue;
  void* memory = nullptr;
  const int context = EmulatedDriver::current()->number;
  if (!memoryOfGpus().allocate(context, bytes, GpuMemory::Kind::Allocated, memory)) return Result::OutOfMemory;
  *address = addressOf(memory);
  return Result::Success;
}

Result memoryFree(Address address) {
  if (EmulatedDriver::current() == nullptr) return Result::InvalidContext;
  const uint16_t users = static_cast<uint16_t>(memoryOfGpus().usersOfContext(EmulatedDriver::current()->number) |
                                               memoryOfGpus().usersOf(pointerOf(address)));
  if (const Result result = EmulatedDriver::waits(users, "cuMemFree"); result != Result::Success) return result;
  const bool freed = memoryOfGpus().release(pointerOf(address), GpuMemory::Kind::Allocated) ||
                     memoryOfGpus().release(pointerOf(address), GpuMemory::Kind::Pool) ||
                     memoryOfGpus().release(pointerOf(address), GpuMemory::Kind::Managed);
  return address == 0 || freed ? Result::Success : Result::InvalidValue;
}

Result hostAllocate(void** memory, size_t bytes, unsigned) {
  if (const Result result = EmulatedDriver::waits(EmulatedDriver::kAllContexts, "cuMemHostAlloc");
      result != Result::Success)
    return result;
  const size_t whole = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  *memory = std::aligned_alloc(kPageBytes, whole);
  if (*memory == nullptr) return Result::OutOfMemory;
  std::memset(*memory, 0xa5, whole);
  const std::lock_guard lock(hostMemory().mutex);
  hostMemory().ranges[addressOf(*memory)] = {whole, false, ++hostMemory().lastId};
  return Result::Success;
}

Result hostFree(void* memory) {
  if (const Result result = EmulatedDriver::waits(EmulatedDriver::kAllContexts, "cuMemFreeHost");
      result != Result::Success)
    return result;
  const std::lock_guard lock(hostMemory().mutex);
  const auto found = hostMemory().ranges.find(addressOf(memory));
  if (found == hostMemory().ranges.end() || found->second.registered) return Result::InvalidValue;
  hostMemory().ranges.erase(found);
  std::free(memory);
  return Result::Success;
}

Result hostRegister(void* memory, size_t bytes, unsigned) {
  if (const Result result = EmulatedDriver::waits(EmulatedDriver::kAllContexts, "cuMemHostRegister");
      result != Result::Success)
    return result;
  const uintptr_t begin = addressOf(memory);
  if (bytes == 0) return Result::InvalidValue;
  const std::lock_guard lock(hostMemory().mutex);
  if (hostMemory().overlapping(begin, bytes) != hostMemory().ranges.end()) return Result::HostMemoryAlreadyRegistered;
  hostMemory().ranges[begin] = {bytes, true, ++hostMemory().lastId};
  return Result::Success;
}

Result hostUnregister(void* memory) {
  if (const Result result = EmulatedDriver::waits(EmulatedDriver::kAllContexts, "cuMemHostUnregister");
      result != Result::Success)
    return result;
  const std::lock_guard lock(hostMemory().mutex);
  const auto found = hostMemory().ranges.find(addressOf(memory));
  if (found == hostMemory().ranges.end() || !found->second.registered) return Result::HostMemoryNotRegistered;
  hostMemory().ranges.erase(found);
  return Result::Success;
}

Result hostDevicePointer(Address* address, void* memory, unsigned) {
  const std::lock_guard lock(hostMemory().mutex);
  if (hostMemory().overlapping(addressOf(memory), 1) == hostMemory().ranges.end()) return Result::InvalidValue;
  *address = addressOf(memory);
  return Result::Success;
}

Result pointerAttribute(void* value, PointerAttribute attribute, Address address) {
  EmulatedDriver::ofThisProcess().countQuestion();
  GpuMemory::Facts facts;
  facts.users = 0xffff;
  const bool ofDevice = memoryOfGpus().find(pointerOf(address), facts);
  if (!ofDevice) {
    const std::lock_guard lock(hostMemory().mutex);
    const auto found = hostMemory().overlapping(static_cast<uintptr_t>(address), 1);
    if (found == hostMemory().ranges.end()) return Result::InvalidValue;
    facts.begin = found->first;
    facts.bytes = found->second.bytes;
    facts.id = found->second.id;
  }
  const Context context = ofDevice ? EmulatedDriver::ofThisProcess().numbered(facts.context) : nullptr;
  const bool ofContext = facts.kind == GpuMemory::Kind::Allocated || facts.kind == GpuMemory::Kind::Opened;
  switch (attribute) {
    case PointerAttribute::Context:
      *static_cast<Context*>(value) = ofContext ? context : nullptr;
      break;
    case PointerAttribute::MemoryType:
      *static_cast<unsigned*>(value) = ofDevice ? driver::kMemoryOfDevice : driver::kMemoryOfHost;
      break;
    case PointerAttribute::BufferId:
      *static_cast<uint64_t*>(value) = facts.id;
      break;
    case PointerAttribute::IsManaged:
      *static_cast<unsigned*>(value) = ofDevice && facts.kind == GpuMemory::Kind::Managed ? 1 : 0;
      break;
    case PointerAttribute::DeviceOrdinal:
      *static_cast<int*>(value) = context == nullptr ? 0 : context->device;
      break;
    case PointerAttribute::LegacyIpcCapable:
      *static_cast<int*>(value) = ofDevice && facts.kind == GpuMemory::Kind::Allocated ? 1 : 0;
      break;
    case PointerAttribute::RangeStart:
      *static_cast<Address*>(value) = facts.begin;
      break;
    case PointerAttribute::RangeBytes:
      *static_cast<size_t*>(value) = facts.bytes;
      break;
    case PointerAttribute::Mapped:
      *static_cast<int*>(value) = facts.users != 0 ? 1 : 0;
      break;
    case PointerAttribute::AccessFlags: {
      const Context current = EmulatedDriver::current();
      if (current == nullptr) return Result::InvalidContext;
      *static_cast<int*>(value) = (facts.users >> current->number & 1) != 0 ? driver::kAccessReadWrite : 0;
      break;
    }
  }
  return Result::Success;
}

Result ipcExport(IpcHandle* handle, Address address) {
  const Status status = memoryOfGpus().exportHandle(pointerOf(address), handle->bytes, sizeof handle->bytes);
  return status ? Result::Success : status.code() == Code::Invalid ? Result::InvalidValue : Result::NotSupported;
}

Result ipcOpen(Address* address, IpcHandle handle, unsigned) {
  if (const Result result = waitsForUsers("cuIpcOpenMemHandle"); result != Result::Success) return result;
  if (sharingHas("no-open")) return Result::NotSupported;
  void* memory = nullptr;
  const Status status = memoryOfGpus().openHandle(EmulatedDriver::current()->number, handle.bytes, memory);
  if (!status) return status.code() == Code::Invalid ? Result::InvalidContext : Result::InvalidHandle;
  *address = addressOf(memory);
  return Result::Success;
}

Result ipcClose(Address address) {
  if (const Result result = waitsForUsers("cuIpcCloseMemHandle"); result != Result::Success) return result;
  return memoryOfGpus().closeHandle(pointerOf(address)) ? Result::Success : Result::InvalidValue;
}

Result allocationGranularity(size_t* bytes, const AllocationProperties*, int) {
  *bytes = kGpuPageBytes;
  return Result::Success;
}

Result allocationCreate(Allocation* allocation, size_t bytes, const AllocationProperties* properties,
                        unsigned long long) {
  int fd = -1;
  if (bytes % kGpuPageBytes != 0 || bytes == 0) return Result::InvalidValue;
  const int device = EmulatedDriver::ofThisProcess().numberOnHost(properties->location.id);
  if (!memoryOfGpus().create(bytes, device, properties->handleTypes != 0, fd)) return Result::OutOfMemory;
  multicasts().noteMemory(fd, properties->location.id, properties->handleTypes != 0);
  forAdapters().note(fd, properties->gpuDirectRdma != 0);
  *allocation = allocationOf(fd);
  return Result::Success;
}

// Mappings of the allocation stay.
Result allocationRelease(Allocation allocation) {
  if (allocation == 0) return Result::InvalidValue;
  const int fd = descriptorOf(allocation);
  if (multicasts().isObject(fd)) multicasts().released(fd);
  return ::close(fd) == 0 ? Result::Success : Result::InvalidValue;
}

Result allocationExport(void* handle, Allocation allocation, int handleType, unsigned long long) {
  if (handleType != driver::kPosixDescriptor || sharingHas("no-export")) return Result::NotSupported;
  const auto facts = multicasts().factsOf(descriptorOf(allocation));
  if (facts && !facts->shareable) return Result::InvalidValue;
  const int fd = ::fcntl(descriptorOf(allocation), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Result::InvalidValue;
  *static_cast<int*>(handle) = fd;
  return Result::Success;
}

Result allocationImport(Allocation* allocation, void* handle, int handleType) {
  if (handleType != driver::kPosixDescriptor || sharingHas("no-import")) return Result::NotSupported;
  const int fd = ::fcntl(static_cast<int>(reinterpret_cast<intptr_t>(handle)), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Result::InvalidValue;
  if (const int gpu = GpuMemory::deviceOf(fd); gpu >= 0 && !EmulatedDriver::ofThisProcess().hasGpu(gpu)) {
    ::close(fd);
    return Result::InvalidDevice;
  }
  if (multicasts().isObject(fd)) multicasts().gained(fd);
  *allocation = allocationOf(fd);
  return Result::Success;
}

Result allocationRetain(Allocation* allocation, void* address) {
  int fd = -1;
  if (!memoryOfGpus().retain(address, fd)) return Result::InvalidValue;
  *allocation = allocationOf(fd);
  return Result::Success;
}

Result multicastGranularity(size_t* bytes, const MulticastProperties*, int) {
  *bytes = kGpuPageBytes;
  return Result::Success;
}

Result multicastCreate(Allocation* multicast, const MulticastProperties* properties) {
  int fd = -1;
  if (sharingHas("no-multicast")) return Result::NotSupported;
  const Result result = multicasts().create(*properties, fd);
  if (result == Result::Success) *multicast = allocationOf(fd);
  return result;
}

Result multicastAddDevice(Allocation multicast, Device device) {
  int supported = 0;
  const Result result = deviceAttribute(&supported, DeviceAttribute::Multicast, device);
  if (result != Result::Success) return result;
  return supported == 0 ? Result::NotSupported : multicasts().addDevice(descriptorOf(multicast), device);
}

Result multicastBind(Allocation multicast, size_t multicastOffset, Allocation memory, size_t memoryOffset, size_t bytes,
                     unsigned long long flags) {
  if (flags != 0) return Result::InvalidValue;
  if (sharingHas("no-bind")) return Result::OutOfMemory;
  return multicasts().bind(descriptorOf(multicast), multicastOffset, descriptorOf(memory), memoryOffset, bytes);
}

Result multicastUnbind(Allocation multicast, Device device, size_t multicastOffset, size_t bytes) {
  return multicasts().unbind(descriptorOf(multicast), device, multicastOffset, bytes);
}

Result addressReserve(Address* address, size_t bytes, size_t, Address, unsigned long long) {
  void* memory = nullptr;
  if (bytes % kGpuPageBytes != 0 || bytes == 0) return Result::InvalidValue;
  if (!memoryOfGpus().reserve(bytes, memory)) return Result::OutOfMemory;
  *address = addressOf(memory);
  return Result::Success;
}

Result addressFree(Address address, size_t) {
  return memoryOfGpus().release(pointerOf(address), GpuMemory::Kind::Reserved) ? Result::Success : Result::InvalidValue;
}

Result memoryMap(Address address, size_t bytes, size_t offset, Allocation allocation, unsigned long long) {
  if (offset != 0) return Result::InvalidValue;
  const int fd = descriptorOf(allocation);
  if (multicasts().isObject(fd)) return multicasts().map(pointerOf(address), bytes, fd);
  const auto facts = multicasts().factsOf(fd);
  const int context = facts ? facts->device : 0;  // a device's primary context has the device's number
  return memoryOfGpus().map(pointerOf(address), bytes, fd, context) ? Result::Success : Result::InvalidValue;
}

Result memoryUnmap(Address address, size_t bytes) {
  const uint16_t users =
      static_cast<uint16_t>(multicasts().usersOf(pointerOf(address)) | memoryOfGpus().usersOf(pointerOf(address)));
  if (const Result result = EmulatedDriver::waits(users, "cuMemUnmap"); result != Result::Success) return result;
  if (!multicasts().unmap(pointerOf(address))) multicasts().forgetAddresses();
  return memoryOfGpus().unmap(pointerOf(address), bytes) ? Result::Success : Result::InvalidValue;
}

Result memoryAccess(Address address, size_t bytes, const MemoryAccess* users, size_t count) {
  uint16_t given = 0, taken = 0;
  for (size_t i = 0; i < count; ++i) {
    uint16_t& bits = users[i].flags == driver::kAccessReadWrite ? given : taken;
    bits = static_cast<uint16_t>(bits | EmulatedDriver::ofThisProcess().contextsOf(users[i].location.id));
  }
  // Only the functions of multicast.h access multicast addresses.
  if (multicasts().setUsers(pointerOf(address), given)) return Result::Success;
  return memoryOfGpus().setUsers(pointerOf(address), bytes, given, taken) ? Result::Success : Result::InvalidValue;
}

// Returns a dma-buf that no adapter's driver accepts, so that callers fall back to the address. The range must be whole
// pages, and a mapped allocation must have been created for GPUDirect RDMA.
Result rangeHandle(void* handle, Address address, size_t bytes, int handleType, unsigned long long) {
  if (handleType != driver::kDmaBufDescriptor) return Result::NotSupported;
  GpuMemory::Facts facts;
  const size_t page = pageBytes();
  if (address % page != 0 || bytes % page != 0) return Result::InvalidValue;
  if (!memoryOfGpus().find(pointerOf(address), facts)) return Result::InvalidValue;
  if (facts.kind == GpuMemory::Kind::Reserved && !forAdapters().has(facts.number)) return Result::NotSupported;
  const int fd = ::memfd_create("jccl-emulated-dmabuf", MFD_CLOEXEC);
  if (fd < 0) return Result::OutOfMemory;
  *static_cast<int*>(handle) = fd;
  return Result::Success;
}

}  // namespace jccl::emulator::calls
