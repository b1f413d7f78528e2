#include "transport/mapping_check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>

namespace jccl {
namespace {

// PROCMAP_QUERY of Linux 6.11, which older headers lack.
struct Query {
  uint64_t size = sizeof(Query);
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t begin = 0, end = 0;
  uint64_t mappingFlags = 0;
  uint64_t pageBytes = 0;
  uint64_t offset = 0;
  uint64_t inode = 0;
  uint32_t deviceMajor = 0, deviceMinor = 0;
  uint32_t nameBytes = 0, buildIdBytes = 0;
  uint64_t name = 0, buildId = 0;
};
static_assert(sizeof(Query) == 104);
constexpr unsigned long kQuery = _IOWR('f', 17, Query);

}  // namespace

// One mapping, as the kernel reports it.
struct MappingCheck::Part {
  uint64_t begin = 0, end = 0;
  uint64_t offset = 0;
  uint64_t inode = 0;
  uint64_t deviceMajor = 0, deviceMinor = 0;
};

MappingCheck::MappingCheck(int fd, off_t offset, const void* address, size_t bytes)
    : begin_(reinterpret_cast<uintptr_t>(address)), offset_(static_cast<uint64_t>(offset)) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return;
  maps_ = std::make_shared<const UniqueFd>(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  end_ = begin_ + bytes;
  inode_ = facts.st_ino;
  deviceMajor_ = major(facts.st_dev);
  deviceMinor_ = minor(facts.st_dev);
}

bool MappingCheck::continues(const Part& part, uintptr_t at) const {
  return part.begin <= at && at < part.end && part.inode == inode_ && part.deviceMajor == deviceMajor_ &&
         part.deviceMinor == deviceMinor_ && at - part.begin + part.offset == at - begin_ + offset_;
}

// The address range may consist of several mappings, because mlock and madvise divide a mapping.
MappingCheck::Answer MappingCheck::query() const {
  for (uintptr_t at = begin_; at < end_;) {
    Query query;
    query.address = at;
    if (::ioctl(maps_->get(), kQuery, &query) != 0) return errno == ENOENT ? Answer::No : Answer::Unknown;
    if (!continues({query.begin, query.end, query.offset, query.inode, query.deviceMajor, query.deviceMinor}, at)) {
      return Answer::No;
    }
    at = query.end;
  }
  return Answer::Yes;
}

MappingCheck::Answer MappingCheck::isListed() const {
  // Only one thread at a time may read the list: the kernel continues each read of the descriptor where the previous
  // read has ended, in the list as it is at that time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::string text;
  char part[16384];
  ssize_t got = 0;
  while ((got = ::pread(maps_->get(), part, sizeof part, static_cast<off_t>(text.size()))) > 0) {
    text.append(part, static_cast<size_t>(got));
  }
  if (got < 0 || text.empty()) return Answer::Unknown;
  std::istringstream lines(text);
  uintptr_t at = begin_;
  for (std::string line; at < end_ && std::getline(lines, line);) {
    unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
    unsigned int deviceMajor = 0, deviceMinor = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %llx %x:%x %llu", &begin, &end, &offset, &deviceMajor, &deviceMinor,
                    &inode) != 6) {
      return Answer::Unknown;
    }
    if (end <= at) continue;
    if (!continues({begin, end, offset, inode, deviceMajor, deviceMinor}, at)) return Answer::No;
    at = end;
  }
  return at >= end_ ? Answer::Yes : Answer::No;
}

bool MappingCheck::isMapped() const {
  if (end_ == 0) return false;
  if (const Answer answer = query(); answer != Answer::Unknown) return answer == Answer::Yes;
  // /proc/self/map_files has an entry for each mapping of a file. The name of the entry contains the addresses of the
  // mapping. If anonymous memory has replaced the mapping, there is no such entry.
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", static_cast<unsigned long long>(begin_),
                static_cast<unsigned long long>(end_));
  struct stat facts {};
  return ::lstat(path, &facts) == 0 || isListed() == Answer::Yes;
}

MappingCheck::Answer MappingCheck::lookUp() const {
  if (end_ == 0) return Answer::Unknown;
  const Answer answer = query();
  return answer == Answer::Unknown ? isListed() : answer;
}

}  // namespace jccl
