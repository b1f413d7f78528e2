#include "cuda/test/device/gpu_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <string>

#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/peer_faults.h"
#include "cuda/test/emulator/access_map.h"

namespace jccl::emulator {
namespace {

constexpr size_t kAddresses = size_t{16} << 30;  // limited, because an emulator of another processor records each page
constexpr int kUninitialised = 0xa5;

// Content of a legacy handle.
struct HandleContent {
  int32_t process;
  int32_t descriptor;
  uint64_t bytes;
  uint64_t number;  // inode, by which a reused descriptor is detected
};

// Describes the lock that a process keeps on memory that it has opened. The process that frees the memory sees the
// lock.
struct ::flock lockOf(short kind) {  // NOLINT(google-runtime-int): as the system has it
  struct ::flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool isOpenElsewhere(int fd) {
  struct ::flock lock = lockOf(F_WRLCK);
  return fd >= 0 && ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

uint64_t numberOf(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

size_t wholePages(size_t bytes) {
  return (bytes + AccessMap::kPageBytes - 1) / AccessMap::kPageBytes * AccessMap::kPageBytes;
}
size_t wholeGpuPages(size_t bytes) { return (bytes + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes; }

void* addressOf(uintptr_t begin) { return reinterpret_cast<void*>(begin); }

void* nothingAt(uintptr_t begin, size_t bytes) {
  return ::mmap(addressOf(begin), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

Status mapAt(uintptr_t begin, size_t bytes, int fd) {
  const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (::mmap(addressOf(begin), bytes, PROT_READ | PROT_WRITE, flags, fd, 0) != MAP_FAILED) return Status::ok();
  return Status::system("mmap", "bytes=" + std::to_string(bytes));
}

Status makeShared(size_t bytes, const char* prefix, int device, UniqueFd& fd) {
  const std::string name = std::string(prefix) + "-" + std::to_string(device);
  fd.reset(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (fd && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0) return Status::ok();
  return Status::system("memfd_create", "bytes=" + std::to_string(bytes));
}

}  // namespace

bool sharingHas(const char* word) {
  const char* set = std::getenv("JCCL_EMULATED_SHARING");
  std::istringstream entries(set == nullptr ? "" : set);
  for (std::string one; std::getline(entries, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

GpuMemory& GpuMemory::ofThisProcess() {
  static auto* memory = new GpuMemory();  // kernels use it until the process ends
  return *memory;
}

GpuMemory::GpuMemory() {
  const size_t pages = kAddresses / AccessMap::kPageBytes;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* all = ::mmap(nullptr, kAddresses + kGpuPageBytes, PROT_NONE, flags, -1, 0);
  void* users = ::mmap(nullptr, pages * sizeof(uint16_t), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (all == MAP_FAILED || users == MAP_FAILED) throw std::bad_alloc();
  next_ = wholeGpuPages(reinterpret_cast<uintptr_t>(all));
  accessMap = {next_, kAddresses, static_cast<uint16_t*>(users)};
  for (size_t context = 0; context < reaches_.size(); ++context)
    reaches_[context] = static_cast<uint16_t>(1u << context);
  usePeerFaults();
}

int GpuMemory::deviceOf(int fd) {
  char target[128] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (::readlink(link.c_str(), target, sizeof target - 1) < 0) return -1;
  int device = -1;
  for (const char* name : {kEmulatedMemoryName, kUnsharedMemoryName}) {
    const std::string format = std::string("/memfd:") + name + "-%d";
    if (std::sscanf(target, format.c_str(), &device) == 1) return device;
  }
  return -1;
}

// Finds free addresses that begin at a page of the driver, and adds the range there.
Status GpuMemory::take(size_t bytes, Range range, void*& memory) {
  const size_t whole = wholeGpuPages(bytes);
  uintptr_t begin = 0;
  if (next_ + whole <= accessMap.begin + accessMap.bytes) {
    begin = next_;
    next_ += whole;
  } else {
    for (auto old = free_.begin(); begin == 0 && old != free_.end(); ++old) {
      if (old->second < whole) continue;
      begin = old->first;
      old->first += whole;
      old->second -= whole;
    }
  }
  if (begin == 0) return {Code::NoMemory, "bytes=" + std::to_string(bytes) + ": no addresses are left"};
  range.begin = begin;
  range.bytes = wholePages(bytes);
  range.id = ++lastId_;
  memory = addressOf(begin);
  ranges_[begin] = std::move(range);
  return Status::ok();
}

void GpuMemory::giveUsers(Range& range, uint16_t users) {
  range.users = users;
  uint16_t* pages = accessMap.usersOf(addressOf(range.begin));
  for (size_t i = 0; i < range.bytes / AccessMap::kPageBytes; ++i) {
    __atomic_store_n(pages + i, users, __ATOMIC_RELAXED);
  }
}

uint16_t GpuMemory::usersOf(int context, Kind kind) const {
  if (kind == Kind::Managed) return 0xffff;
  uint16_t users = static_cast<uint16_t>(1u << context);
  if (kind != Kind::Allocated) return users;
  for (size_t other = 0; other < reaches_.size(); ++other) {
    if ((reaches_[other] >> context & 1) != 0) users = static_cast<uint16_t>(users | 1u << other);
  }
  return users;
}

Status GpuMemory::allocate(int context, size_t bytes, Kind kind, void*& memory) {
  const std::lock_guard lock(mutex_);
  Range range;
  range.kind = kind;
  range.context = context;
  if (kind == Kind::Allocated && sharingHas("handles")) {
    EmulatedDriver& driver = EmulatedDriver::ofThisProcess();
    range.device = driver.numberOnHost(driver.numbered(context)->device);
    if (Status status = makeShared(wholeGpuPages(bytes), kEmulatedMemoryName, range.device, range.fd); !status)
      return status;
    bytes = wholeGpuPages(bytes);
  }
  const int fd = range.fd.get();
  if (Status status = take(bytes, std::move(range), memory); !status) return status;
  Range& made = rangeOf(memory)->second;
  if (Status status = mapAt(made.begin, made.bytes, fd); !status) return status;
  std::memset(memory, kUninitialised, made.bytes);
  giveUsers(made, usersOf(context, kind));
  return Status::ok();
}

bool GpuMemory::release(void* memory, Kind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<uintptr_t>(memory));
  if (found == ranges_.end() || found->second.kind != kind) return false;
  Range& range = found->second;
  if (kind == Kind::Allocated && isOpenElsewhere(range.fd.get())) return false;
  giveUsers(range, 0);
  (void)nothingAt(range.begin, range.bytes);
  free_.emplace_back(range.begin, wholeGpuPages(range.bytes));
  ranges_.erase(found);
  return true;
}

bool GpuMemory::enablePeer(int context, int peer) {
  const std::lock_guard lock(mutex_);
  if ((reaches_[context] >> peer & 1) != 0) return false;
  reaches_[context] = static_cast<uint16_t>(reaches_[context] | 1u << peer);
  for (auto& [begin, range] : ranges_) {
    if (range.kind == Kind::Allocated && range.context == peer) giveUsers(range, usersOf(peer, range.kind));
  }
  return true;
}

void GpuMemory::forget(int context) {
  const std::lock_guard lock(mutex_);
  for (uint16_t& reaches : reaches_) reaches = static_cast<uint16_t>(reaches & ~(1u << context));
  reaches_[context] = static_cast<uint16_t>(1u << context);
}

Status GpuMemory::exportHandle(const void* memory, unsigned char* handle, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<uintptr_t>(memory));
  if (found == ranges_.end() || found->second.kind != Kind::Allocated) {
    return Status::invalid("expected the begin of what cuMemAlloc has allocated");
  }
  if (!found->second.fd) return Status::transport("memory of an emulated GPU is its process's own");
  const int fd = found->second.fd.get();
  const HandleContent place{::getpid(), fd, found->second.bytes, numberOf(fd)};
  if (bytes < sizeof place) return Status::internal("a handle is too small");
  std::memcpy(handle, &place, sizeof place);
  return Status::ok();
}

Status GpuMemory::openHandle(int context, const unsigned char* handle, void*& memory) {
  HandleContent place;
  std::memcpy(&place, handle, sizeof place);
  const std::string path = "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  if (place.process == ::getpid()) return Status::invalid("path=" + path + ": a handle of this process");
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return Status::system("open", "path=" + path);
  if (numberOf(fd.get()) != place.number) return Status::transport("path=" + path + ": the memory was freed");
  const int device = deviceOf(fd.get());
  if (!EmulatedDriver::ofThisProcess().hasGpu(device)) return Status::transport("path=" + path + ": no such GPU here");
  const std::lock_guard lock(mutex_);
  for (auto& [begin, range] : ranges_) {
    if (range.kind != Kind::Opened || range.context != context || range.number != place.number) continue;
    ++range.opened;
    memory = addressOf(begin);
    return Status::ok();
  }
  struct ::flock shared = lockOf(F_RDLCK);
  if (::fcntl(fd.get(), F_OFD_SETLK, &shared) != 0) return Status::system("fcntl", "path=" + path);
  Range range;
  range.kind = Kind::Opened;
  range.context = context;
  range.fd = std::move(fd);
  range.device = device;
  range.number = place.number;
  const int opened = range.fd.get();
  if (Status status = take(place.bytes, std::move(range), memory); !status) return status;
  Range& made = rangeOf(memory)->second;
  if (Status status = mapAt(made.begin, made.bytes, opened); !status) return status;
  giveUsers(made, usersOf(context, Kind::Opened));
  return Status::ok();
}

bool GpuMemory::closeHandle(void* memory) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(reinterpret_cast<uintptr_t>(memory));
    if (found == ranges_.end() || found->second.kind != Kind::Opened) return false;
    if (--found->second.opened > 0) return true;
  }
  return release(memory, Kind::Opened);
}

Status GpuMemory::create(size_t bytes, int device, bool shareable, int& fd) {
  UniqueFd made;
  const char* prefix = shareable ? kEmulatedMemoryName : kUnsharedMemoryName;
  if (Status status = makeShared(bytes, prefix, device, made); !status) return status;
  void* all = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
  if (all == MAP_FAILED) return Status::system("mmap", "bytes=" + std::to_string(bytes));
  std::memset(all, kUninitialised, bytes);
  (void)::munmap(all, bytes);
  fd = made.release();
  return Status::ok();
}

Status GpuMemory::reserve(size_t bytes, void*& memory) {
  const std::lock_guard lock(mutex_);
  Range range;
  range.kind = Kind::Reserved;
  range.mapped = false;
  return take(bytes, std::move(range), memory);
}

Status GpuMemory::map(void* memory, size_t bytes, int fd, int context) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  if (found == ranges_.end() || found->second.kind != Kind::Reserved || found->second.mapped ||
      found->second.bytes != bytes) {
    return Status::invalid("bytes=" + std::to_string(bytes) + ": expected addresses that were reserved, all of them");
  }
  struct stat facts;
  if (::fstat(fd, &facts) != 0) return Status::system("fstat", "descriptor=" + std::to_string(fd));
  if (facts.st_size != static_cast<off_t>(bytes)) {
    return Status::invalid("descriptor=" + std::to_string(fd) + " bytes=" + std::to_string(facts.st_size) +
                           ", expected bytes=" + std::to_string(bytes));
  }
  UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) return Status::system("fcntl", "descriptor=" + std::to_string(fd));
  if (Status status = mapAt(found->second.begin, bytes, fd); !status) return status;
  found->second.mapped = true;
  found->second.number = facts.st_ino;
  found->second.device = deviceOf(fd);
  found->second.context = context;
  found->second.fd = std::move(own);
  found->second.id = ++lastId_;
  return Status::ok();
}

Status GpuMemory::retain(const void* memory, int& fd) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  if (found == ranges_.end() || found->second.kind != Kind::Reserved || !found->second.fd) {
    return Status::invalid("expected an address where an allocation of cuMemCreate is mapped");
  }
  fd = ::fcntl(found->second.fd.get(), F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? Status::system("fcntl", "retain") : Status::ok();
}

bool GpuMemory::mapNothing(void* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  if (found == ranges_.end() || found->second.kind != Kind::Reserved || found->second.mapped ||
      found->second.begin != reinterpret_cast<uintptr_t>(memory) || found->second.bytes != bytes) {
    return false;
  }
  found->second.mapped = true;
  return true;
}

uint8_t* GpuMemory::whereMapped(ino_t number) {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, range] : ranges_) {
    if (range.number == number && range.mapped) return static_cast<uint8_t*>(addressOf(begin));
  }
  return nullptr;
}

Status GpuMemory::setUsers(void* memory, size_t bytes, uint16_t given, uint16_t taken) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  if (found == ranges_.end() || !found->second.mapped || found->second.bytes != bytes) {
    return Status::invalid("bytes=" + std::to_string(bytes) + ": expected what is mapped, all of it");
  }
  giveUsers(found->second, static_cast<uint16_t>((found->second.users & ~taken) | given));
  return Status::ok();
}

Status GpuMemory::unmap(void* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  if (found == ranges_.end() || found->second.kind != Kind::Reserved || !found->second.mapped ||
      found->second.bytes != bytes) {
    return Status::invalid("bytes=" + std::to_string(bytes) + ": expected what is mapped, all of it");
  }
  giveUsers(found->second, 0);
  (void)nothingAt(found->second.begin, bytes);
  found->second.mapped = false;
  found->second.number = 0;
  found->second.fd.reset();
  return Status::ok();
}

std::map<uintptr_t, GpuMemory::Range>::iterator GpuMemory::rangeOf(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return ranges_.end();
  --after;
  return address < after->second.begin + after->second.bytes ? after : ranges_.end();
}

uint16_t GpuMemory::usersOf(const void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  return found == ranges_.end() ? 0 : found->second.users;
}

uint16_t GpuMemory::usersOfContext(int context) {
  const std::lock_guard lock(mutex_);
  return usersOf(context, Kind::Allocated);
}

bool GpuMemory::isAmongItsAddresses(const void* memory) const { return accessMap.usersOf(memory) != nullptr; }

bool GpuMemory::find(const void* memory, Facts& facts) {
  const std::lock_guard lock(mutex_);
  const auto found = rangeOf(memory);
  if (found == ranges_.end()) return false;
  facts = found->second;
  return true;
}

}  // namespace jccl::emulator
