#include "transport/shm_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/page.h"

namespace jccl {
namespace {

constexpr const char* kShmFolder = "/dev/shm";

// MADV_POPULATE_READ of Linux 5.14 and MADV_COLLAPSE of Linux 6.1, which older headers lack.
constexpr int kPopulateRead = 22;
constexpr int kCollapse = 25;

size_t wholePages(size_t bytes) {
  const size_t page = pageBytes();
  return (bytes + page - 1) / page * page;
}

std::string describe(const char* label, size_t bytes) {
  return "segment=" + std::string(label) + " bytes=" + std::to_string(bytes);
}

// Opens a file without a name. If the file system does not support that, opens a file and removes its name at once.
UniqueFd openNameless() {
  UniqueFd fd(::open(kShmFolder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return fd;
  const std::string name =
      std::string(kShmFolder) + "/jccl-" + std::to_string(::getpid()) + "-" + std::to_string(random);
  fd.reset(::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd) ::unlink(name.c_str());
  return fd;
}

Status createMemfd(const char* label, size_t bytes, UniqueFd* fd) {
  fd->reset(::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!*fd) return Status::system("memfd_create", describe(label, bytes));
  if (::ftruncate(fd->get(), static_cast<off_t>(bytes)) != 0)
    return Status::system("ftruncate", describe(label, bytes));
  if (::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Status::system("fcntl(F_ADD_SEALS)", describe(label, bytes));
  }
  return Status::ok();
}

Status createInDevShm(const char* label, size_t bytes, UniqueFd* fd) {
  struct statvfs space;
  if (::statvfs(kShmFolder, &space) != 0) return Status::system("statvfs", std::string("path=") + kShmFolder);
  if (Status enough = checkSpace(label, bytes, size_t{space.f_bavail} * space.f_frsize); !enough) return enough;
  *fd = openNameless();
  if (!*fd) return Status::system("open", describe(label, bytes) + " path=" + kShmFolder);
  const int error = ::posix_fallocate(fd->get(), 0, static_cast<off_t>(bytes));
  if (error == ENOSPC) return checkSpace(label, bytes, 0);
  if (error != 0) return Status::system("posix_fallocate", describe(label, bytes) + " path=" + kShmFolder, error);
  return Status::ok();
}

}  // namespace

Status checkSpace(const char* label, size_t wantedBytes, size_t freeBytes) {
  if (wantedBytes <= freeBytes) return Status::ok();
  return {Code::NoMemory,
          "path=" + std::string(kShmFolder) + " segment=" + label + " wanted_bytes=" + std::to_string(wantedBytes) +
              " free_bytes=" + std::to_string(freeBytes) +
              ": shared memory is too small; give the container more (docker run --shm-size=1g, or an emptyDir volume "
              "with medium Memory on /dev/shm), or lower JCCL_BUFFSIZE"};
}

ShmSegment& ShmSegment::operator=(ShmSegment&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = std::move(other.fd_);
  address_ = std::exchange(other.address_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  backing_ = other.backing_;
  shared_ = other.shared_;
  return *this;
}

uint64_t& ShmSegment::lastWord() const { return *reinterpret_cast<uint64_t*>(address_ + bytes_ - sizeof(uint64_t)); }

void ShmSegment::markLive() { std::atomic_ref(lastWord()).store(1, std::memory_order_release); }

bool ShmSegment::isLive() const { return std::atomic_ref(lastWord()).load(std::memory_order_acquire) != 0; }

Status ShmSegment::discard(bool keepsAddresses) {
  std::atomic_ref(lastWord()).store(0, std::memory_order_release);
  Status status;
  if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes_)) != 0) {
    status = Status::system("fallocate(FALLOC_FL_PUNCH_HOLE)", "bytes=" + std::to_string(bytes_));
  }
  fd_.reset();
  if (!keepsAddresses) return status;
  // Maps the new memory elsewhere and then moves it, so that the old mapping remains if memory is short.
  void* zeros = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED) return status;
  if (::mremap(zeros, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, address_) == MAP_FAILED) ::munmap(zeros, bytes_);
  return status;
}

size_t ShmSegment::residentBytes() const {
  if (struct stat file{}; fd_ && ::fstat(fd_.get(), &file) == 0) return static_cast<size_t>(file.st_blocks) * 512;
  std::vector<unsigned char> pages(bytes_ / pageBytes());
  if (::mincore(address_, bytes_, pages.data()) != 0) return 0;
  return pageBytes() * std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
}

void ShmSegment::reset() {
  if (address_ != nullptr) ::munmap(address_, bytes_);
  address_ = nullptr;
  bytes_ = 0;
  shared_ = true;
  fd_.reset();
}

Status ShmSegment::isolate(size_t offset, size_t bytes) {
  const size_t begin = offset / pageBytes() * pageBytes();
  const size_t length = wholePages(offset + bytes) - begin;
  if (offset > bytes_ || length > bytes_ - begin) {
    return Status::invalid(describe("isolated", bytes) + " offset=" + std::to_string(offset) +
                           ": expected a part of a segment of bytes=" + std::to_string(bytes_));
  }
  Status status = isolatePages(address_ + begin, length);
  shared_ = shared_ && !status;
  return status;
}

Status ShmSegment::isolatePages(uint8_t* begin, size_t length) {
  void* copy = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return Status::system("mmap", describe("isolated", length));
  std::memcpy(copy, begin, length);
  // mremap replaces the pages in one step: another thread that reads or writes them finds the old ones or the new ones.
  if (::mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == MAP_FAILED) {
    Status status = Status::system("mremap", describe("isolated", length));
    ::munmap(copy, length);
    return status;
  }
  return Status::ok();
}

size_t ShmSegment::takeHugePages(size_t offset, size_t bytes) const {
  const size_t huge = hugePageBytes();
  if (huge == 0 || bytes_ < huge || offset >= bytes_) return 0;
  const size_t begin = offset / huge * huge;
  const size_t end = std::min((offset + bytes + huge - 1) / huge, bytes_ / huge) * huge;
  if (begin >= end) return 0;
  // The kernel collapses a huge page only if its range has a page table, so one page of each range is read first.
  for (size_t at = begin; at < end; at += huge) ::madvise(address_ + at, pageBytes(), kPopulateRead);
  if (::madvise(address_ + begin, end - begin, kCollapse) == 0) return end - begin;
  if (logEnabled(LogLevel::Debug)) {
    logMessage(LogLevel::Debug, "shm",
               Status::system("madvise(MADV_COLLAPSE)", describe("ordinary pages stay", end - begin)).message());
  }
  return 0;
}

// Maps the segment. Huge pages require addresses that equal the file's offsets modulo the size of a huge page.
Status ShmSegment::mapPages(const char* label, size_t bytes) {
  const size_t huge = hugePageBytes();
  const size_t slack = huge != 0 && bytes >= huge ? huge : 0;
  uint8_t* place = nullptr;
  if (slack != 0) {
    void* reserved = ::mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return Status::system("mmap", describe(label, bytes));
    const auto from = reinterpret_cast<uintptr_t>(reserved);
    const uintptr_t aligned = (from + slack - 1) / slack * slack;
    if (aligned > from) ::munmap(reserved, aligned - from);
    if (aligned + bytes < from + bytes + slack) {
      ::munmap(reinterpret_cast<void*>(aligned + bytes), from + slack - aligned);
    }
    place = reinterpret_cast<uint8_t*>(aligned);
  }
  void* mapped = ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (slack != 0 ? MAP_FIXED : 0),
                        fd_.get(), 0);
  if (mapped == MAP_FAILED) {
    Status status = Status::system("mmap", describe(label, bytes));
    if (slack != 0) ::munmap(place, bytes);
    return status;
  }
  address_ = static_cast<uint8_t*>(mapped);
  bytes_ = bytes;
  return Status::ok();
}

Status ShmSegment::create(const char* label, size_t bytes, ShmBacking backing, ShmSegment* segment) {
  if (bytes == 0 || bytes > (size_t{1} << 46)) {
    return Status::invalid(describe(label, bytes) + ": expected 1 byte to 64 TiB");
  }
  const size_t rounded = wholePages(bytes);
  ShmSegment made;
  Status status;
  if (backing != ShmBacking::DevShm) {
    made.backing_ = ShmBacking::Memfd;
    status = createMemfd(label, rounded, &made.fd_);
  }
  if (backing == ShmBacking::DevShm || (!status && backing == ShmBacking::Auto)) {
    const std::string first = status.message();
    made.backing_ = ShmBacking::DevShm;
    status = createInDevShm(label, rounded, &made.fd_);
    if (!status && !first.empty()) status = Status(status.code(), status.message() + " (before that: " + first + ")");
  }
  if (!status) return status;
  if (Status mapped = made.mapPages(label, rounded); !mapped) return mapped;
  *segment = std::move(made);
  return Status::ok();
}

Status ShmSegment::map(UniqueFd fd, size_t expectedBytes, ShmSegment* segment) {
  // Reads the seals before the size. In the other order, a process that made the memory could shrink and seal it
  // between the two reads, and the earlier size would be accepted.
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  struct stat facts;
  if (::fstat(fd.get(), &facts) != 0) return Status::system("fstat", "segment=imported");
  const auto bytes = static_cast<size_t>(facts.st_size);
  if (!S_ISREG(facts.st_mode) || bytes == 0 || (expectedBytes != 0 && bytes != wholePages(expectedBytes))) {
    return Status::transport("segment=imported bytes=" + std::to_string(bytes) + " expected_bytes=" +
                             std::to_string(expectedBytes) + ": the peer offers other memory than agreed");
  }
  // Files in /dev/shm have no seals on some kernels. Their pages are reserved, and only the job's own user has access.
  if (seals >= 0 && (seals & F_SEAL_SHRINK) == 0 && (seals & F_SEAL_SEAL) == 0) {
    return Status::transport("segment=imported bytes=" + std::to_string(bytes) +
                             ": the memory is not sealed, its maker could shrink it");
  }
  ShmSegment made;
  made.backing_ = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 ? ShmBacking::Memfd : ShmBacking::DevShm;
  made.fd_ = std::move(fd);
  if (Status mapped = made.mapPages("imported", bytes); !mapped) return mapped;
  made.fd_.reset();  // the mapping keeps the memory alive
  *segment = std::move(made);
  return Status::ok();
}

}  // namespace jccl
