#include "cuda/test/device/multicast_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <string>

#include "base/fd.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/emulator/access_map.h"

namespace jccl::emulator {
namespace {

constexpr size_t kFileBytes = 4096;  // marks the file of an object: files of memory are larger
constexpr unsigned kMaxDevices = 16;

bool whole(size_t bytes) { return bytes % kGpuPageBytes == 0; }

bool statOf(int fd, struct stat& facts) { return ::fstat(fd, &facts) == 0; }

ino_t numberOf(int fd) {
  struct stat facts {};
  return statOf(fd, facts) ? facts.st_ino : 0;
}

}  // namespace

struct MulticastObjects::Shared {
  struct Member {
    int32_t device;
    int32_t process;
    int32_t fd;  // descriptor of the memory, in `process`
    uint32_t bound;
    uint64_t offset, memoryOffset, bytes;
  };

  // Excludes threads of all processes.
  class Lock {
   public:
    explicit Lock(Shared& shared) : word_(&shared.word) {
      while (__atomic_exchange_n(word_, 1, __ATOMIC_ACQUIRE) != 0) ::usleep(10);
    }
    ~Lock() { __atomic_store_n(word_, 0, __ATOMIC_RELEASE); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    uint32_t* word_;
  };

  uint32_t word;
  uint32_t devices;
  uint64_t bytes;
  uint32_t added;
  Member members[kMaxDevices];

  Member* memberOf(int device) {
    for (uint32_t i = 0; i < added; ++i) {
      // A device has the same number in all processes.
      if (members[i].device == device) return &members[i];
    }
    return nullptr;
  }
};

MulticastObjects& MulticastObjects::ofThisProcess() {
  static auto* objects = [] {
    auto* made = new MulticastObjects();  // kernels use it until the process ends
    multicastPlaces = [](const void* address, size_t bytes, uint16_t user, std::vector<void*>& places) {
      return ofThisProcess().find(address, bytes, user, places);
    };
    return made;
  }();
  return *objects;
}

void MulticastObjects::noteMemory(int fd, int device, bool shareable) {
  const std::lock_guard lock(mutex_);
  memories_[numberOf(fd)] = {device, shareable};
}

std::optional<MulticastObjects::Memory> MulticastObjects::factsOf(int fd) {
  const std::lock_guard lock(mutex_);
  const auto known = memories_.find(numberOf(fd));
  return known == memories_.end() ? std::nullopt : std::optional(known->second);
}

driver::Result MulticastObjects::create(const driver::MulticastProperties& properties, int& fd) {
  if (properties.devices == 0 || properties.devices > kMaxDevices || properties.bytes == 0 ||
      !whole(properties.bytes) || properties.flags != 0 || properties.handleTypes != driver::kPosixDescriptor) {
    return driver::Result::InvalidValue;
  }
  UniqueFd made(::memfd_create(kEmulatedMemoryName, MFD_CLOEXEC));
  if (!made || ::ftruncate(made.get(), kFileBytes) != 0) return driver::Result::OutOfMemory;
  const std::lock_guard lock(mutex_);
  Object* object = objectOf(made.get());
  if (object == nullptr) return driver::Result::OutOfMemory;
  object->shared->devices = properties.devices;
  object->shared->bytes = properties.bytes;
  ++object->holders;
  fd = made.release();
  return driver::Result::Success;
}

bool MulticastObjects::isObject(int fd) const {
  struct stat facts {};
  return statOf(fd, facts) && facts.st_size == static_cast<off_t>(kFileBytes);
}

// Returns the object of a descriptor, mapped by the first call; null if the descriptor is not an object's.
MulticastObjects::Object* MulticastObjects::objectOf(int fd) {
  if (!isObject(fd)) return nullptr;
  Object& object = objects_[numberOf(fd)];
  if (object.shared == nullptr) {
    void* all = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    object.shared = static_cast<Shared*>(all);
  }
  return &object;
}

void MulticastObjects::gained(int fd) {
  const std::lock_guard lock(mutex_);
  if (Object* object = objectOf(fd); object != nullptr) ++object->holders;
}

void MulticastObjects::released(int fd) {
  const std::lock_guard lock(mutex_);
  letGo(numberOf(fd));
}

void MulticastObjects::letGo(ino_t number) {
  const auto found = objects_.find(number);
  if (found == objects_.end() || --found->second.holders > 0) return;
  Shared& shared = *found->second.shared;
  {
    const Shared::Lock among(shared);
    for (uint32_t i = 0; i < shared.added; ++i) {
      Shared::Member& member = shared.members[i];
      if (member.process != ::getpid() || member.bound == 0) continue;
      member.bound = 0;
      (void)::close(member.fd);
    }
  }
  (void)::munmap(&shared, kFileBytes);
  objects_.erase(found);
}

driver::Result MulticastObjects::addDevice(int fd, int device) {
  const std::lock_guard lock(mutex_);
  Object* object = objectOf(fd);
  if (object == nullptr) return driver::Result::InvalidValue;
  Shared& shared = *object->shared;
  const Shared::Lock among(shared);
  if (shared.memberOf(device) != nullptr || shared.added == shared.devices) return driver::Result::InvalidValue;
  shared.members[shared.added++] = {device, ::getpid(), -1, 0, 0, 0, 0};
  return driver::Result::Success;
}

driver::Result MulticastObjects::bind(int fd, size_t offset, int memory, size_t memoryOffset, size_t bytes) {
  const std::lock_guard lock(mutex_);
  Object* object = objectOf(fd);
  const auto known = memories_.find(numberOf(memory));
  struct stat facts {};
  if (object == nullptr || known == memories_.end() || !statOf(memory, facts) || isObject(memory)) {
    return driver::Result::InvalidValue;
  }
  Shared& shared = *object->shared;
  const Shared::Lock among(shared);
  if (bytes == 0 || !whole(bytes) || !whole(offset) || !whole(memoryOffset) || offset + bytes > shared.bytes ||
      memoryOffset + bytes > static_cast<size_t>(facts.st_size)) {
    return driver::Result::InvalidValue;
  }
  if (shared.added < shared.devices) return driver::Result::Unknown;  // a driver would wait here for ever
  Shared::Member* member = shared.memberOf(known->second.device);
  if (member == nullptr || member->process != ::getpid() || member->bound != 0) return driver::Result::InvalidValue;
  if (!known->second.shareable) return driver::Result::InvalidValue;
  const int own = ::fcntl(memory, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return driver::Result::OutOfMemory;
  *member = {member->device, member->process, own, 1, offset, memoryOffset, bytes};
  return driver::Result::Success;
}

driver::Result MulticastObjects::unbind(int fd, int device, size_t offset, size_t bytes) {
  const std::lock_guard lock(mutex_);
  Object* object = objectOf(fd);
  if (object == nullptr) return driver::Result::InvalidValue;
  const Shared::Lock among(*object->shared);
  Shared::Member* member = object->shared->memberOf(device);
  if (member == nullptr || member->bound == 0 || member->process != ::getpid() || member->offset != offset ||
      member->bytes != bytes) {
    return driver::Result::InvalidValue;
  }
  member->bound = 0;
  (void)::close(member->fd);
  return driver::Result::Success;
}

driver::Result MulticastObjects::map(void* address, size_t bytes, int fd) {
  const std::lock_guard lock(mutex_);
  Object* object = objectOf(fd);
  if (object == nullptr) return driver::Result::InvalidValue;
  {
    const Shared::Lock among(*object->shared);
    if (object->shared->added < object->shared->devices || object->shared->bytes != bytes) {
      return driver::Result::InvalidValue;
    }
  }
  if (!GpuMemory::ofThisProcess().mapNothing(address, bytes)) return driver::Result::InvalidValue;
  ++object->holders;
  Mapping& mapping = mappings_[reinterpret_cast<uintptr_t>(address)];
  mapping.bytes = bytes;
  mapping.object = numberOf(fd);
  return driver::Result::Success;
}

bool MulticastObjects::setUsers(void* address, uint16_t users) {
  const std::lock_guard lock(mutex_);
  const auto found = mappings_.find(reinterpret_cast<uintptr_t>(address));
  if (found == mappings_.end()) return false;
  found->second.users = users;
  return true;
}

uint16_t MulticastObjects::usersOf(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = mappings_.find(reinterpret_cast<uintptr_t>(address));
  return found == mappings_.end() ? 0 : found->second.users;
}

bool MulticastObjects::unmap(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = mappings_.find(reinterpret_cast<uintptr_t>(address));
  if (found == mappings_.end()) return false;
  forget(found->second);
  const ino_t number = found->second.object;
  mappings_.erase(found);
  letGo(number);
  return true;
}

void MulticastObjects::forgetAddresses() {
  const std::lock_guard lock(mutex_);
  for (auto& [begin, mapping] : mappings_) forget(mapping);
}

void MulticastObjects::forget(Mapping& mapping) {
  for (const auto& [base, own] : mapping.members) {
    if (own) (void)::munmap(base, mapping.bytes);
  }
  mapping.members.clear();
}

// Finds the memory of every device: where this process has mapped it, or else in a new mapping for this object. Returns
// false if a device has not bound memory of the mapping's size, or the memory cannot be mapped.
bool MulticastObjects::locate(Mapping& mapping) {
  Shared& shared = *objects_[mapping.object].shared;
  const Shared::Lock among(shared);
  for (uint32_t i = 0; i < shared.added; ++i) {
    const Shared::Member& member = shared.members[i];
    if (member.bound == 0 || member.bytes != mapping.bytes) {
      forget(mapping);
      return false;
    }
    const std::string path = "/proc/" + std::to_string(member.process) + "/fd/" + std::to_string(member.fd);
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    uint8_t* known = fd ? GpuMemory::ofThisProcess().whereMapped(numberOf(fd.get())) : nullptr;
    if (known != nullptr) {
      mapping.members.emplace_back(known + member.memoryOffset, false);
      continue;
    }
    void* own = fd ? ::mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(),
                            static_cast<off_t>(member.memoryOffset))
                   : MAP_FAILED;
    if (own == MAP_FAILED) {
      forget(mapping);
      return false;
    }
    mapping.members.emplace_back(static_cast<uint8_t*>(own), true);
  }
  return true;
}

bool MulticastObjects::find(const void* address, size_t bytes, uint16_t user, std::vector<void*>& places) {
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto found = mappings_.upper_bound(at);
  if (found == mappings_.begin()) return false;
  --found;
  Mapping& mapping = found->second;
  const size_t offset = at - found->first;
  if (offset + bytes > mapping.bytes || (mapping.users & user) == 0) return false;
  if (mapping.members.empty() && !locate(mapping)) return false;
  places.clear();
  for (const auto& [base, own] : mapping.members) places.push_back(base + offset);
  return true;
}

}  // namespace jccl::emulator
