#include "cuda/test/device/emulated_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include "base/fd.h"

namespace jccl::emulator {
namespace {

constexpr size_t kUnit = 2 * 1024 * 1024;  // as drivers have it
constexpr int kUninitialised = 0xa5;

struct Allocation {
  UniqueFd fd;  // of memory that this process made for legacy handles
  size_t bytes = 0;
};

struct Allocations {
  std::mutex mutex;
  std::map<void*, Allocation> byAddress;

  void put(void* memory, Allocation allocation) {
    const std::lock_guard lock(mutex);
    byAddress[memory] = std::move(allocation);
  }
  bool take(void* memory, Allocation& allocation) {
    const std::lock_guard lock(mutex);
    const auto found = byAddress.find(memory);
    if (found == byAddress.end()) return false;
    allocation = std::move(found->second);
    byAddress.erase(found);
    return true;
  }
};

Allocations& allocations() {
  static auto* instance = new Allocations();
  return *instance;
}

// What a legacy handle holds.
struct Place {
  int32_t process;
  int32_t descriptor;
  uint64_t bytes;
};

Status map(int fd, size_t bytes, void*& memory) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return Status::system("mmap", "bytes=" + std::to_string(bytes));
  memory = mapped;
  return Status::ok();
}

Status make(size_t bytes, UniqueFd& fd, void*& memory) {
  fd.reset(::memfd_create(kEmulatedMemoryName, MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return Status::system("memfd_create", "bytes=" + std::to_string(bytes));
  }
  if (Status status = map(fd.get(), bytes, memory); !status) return status;
  std::memset(memory, kUninitialised, bytes);
  return Status::ok();
}

size_t wholeUnits(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

}  // namespace

bool sharingHas(const char* word) {
  const char* set = std::getenv("JCCL_EMULATED_SHARING");
  std::istringstream entries(set == nullptr ? "" : set);
  for (std::string one; std::getline(entries, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

Status allocateShared(size_t bytes, void*& memory) {
  Allocation allocation;
  allocation.bytes = wholeUnits(bytes);
  if (Status status = make(allocation.bytes, allocation.fd, memory); !status) return status;
  allocations().put(memory, std::move(allocation));
  return Status::ok();
}

bool releaseShared(void* memory) {
  Allocation allocation;
  if (!allocations().take(memory, allocation)) return false;
  (void)::munmap(memory, allocation.bytes);
  return true;
}

Status exportShared(void* memory, device::MemoryHandle& handle) {
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  const auto found = all.byAddress.find(memory);
  if (found == all.byAddress.end()) {
    return Status::transport("memory of an emulated GPU is its process's own");
  }
  const Place place{::getpid(), found->second.fd.get(), found->second.bytes};
  static_assert(sizeof place <= sizeof handle.bytes);
  std::memcpy(handle.bytes, &place, sizeof place);
  handle.offset = 0;
  return Status::ok();
}

Status openShared(const device::MemoryHandle& handle, void*& memory) {
  Place place;
  std::memcpy(&place, handle.bytes, sizeof place);
  const std::string path = "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  if (place.process == ::getpid()) return Status::invalid("path=" + path + ": a handle of this process");
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return Status::system("open", "path=" + path);
  if (Status status = map(fd.get(), place.bytes, memory); !status) return status;
  allocations().put(memory, {UniqueFd(), place.bytes});
  return Status::ok();
}

Status closeShared(void* memory) {
  return releaseShared(memory) ? Status::ok() : Status::invalid("memory that was not opened");
}

}  // namespace jccl::emulator

namespace jccl::device {

using namespace jccl::emulator;

Status hasDescriptorMemory() {
  if (sharingHas("descriptors")) return Status::ok();
  return Status::transport("an emulated GPU has no file descriptors of memory");
}

Status allocateForDescriptors(size_t bytes, DescriptorMemory& memory) {
  UniqueFd fd;
  void* address = nullptr;
  const size_t whole = wholeUnits(bytes);
  if (Status status = make(whole, fd, address); !status) return status;
  memory = {address, whole, static_cast<uint64_t>(fd.release())};
  return Status::ok();
}

Status exportDescriptor(const DescriptorMemory& memory, int& descriptor) {
  if (sharingHas("no-export")) return Status::transport("the emulated driver refuses to export");
  descriptor = ::fcntl(static_cast<int>(memory.allocation), F_DUPFD_CLOEXEC, 0);
  return descriptor >= 0 ? Status::ok() : Status::system("fcntl(F_DUPFD_CLOEXEC)", "emulated memory");
}

Status importDescriptor(int descriptor, size_t bytes, DescriptorMemory& memory) {
  if (sharingHas("no-import")) return Status::transport("the emulated driver refuses to import");
  struct stat facts;
  if (::fstat(descriptor, &facts) != 0) return Status::system("fstat", "descriptor=" + std::to_string(descriptor));
  if (facts.st_size != static_cast<off_t>(bytes)) {
    return Status::invalid("descriptor=" + std::to_string(descriptor) + " bytes=" + std::to_string(facts.st_size) +
                           ", expected bytes=" + std::to_string(bytes));
  }
  void* address = nullptr;
  if (Status status = map(descriptor, bytes, address); !status) return status;
  memory = {address, bytes, 0};
  return Status::ok();
}

Status unmapMemory(DescriptorMemory& memory) {
  if (memory.address == nullptr) return Status::ok();
  const bool unmapped = ::munmap(memory.address, memory.bytes) == 0;
  if (memory.allocation != 0) (void)::close(static_cast<int>(memory.allocation));
  memory = {};
  return unmapped ? Status::ok() : Status::system("munmap", "emulated memory");
}

}  // namespace jccl::device
