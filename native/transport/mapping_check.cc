#include "transport/mapping_check.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

MappingCheck::MappingCheck(int fd, const void* address, size_t bytes) : begin_(reinterpret_cast<uintptr_t>(address)) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return;
  maps_ = std::make_shared<const UniqueFd>(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  end_ = begin_ + bytes;
  inode_ = facts.st_ino;
  deviceMajor_ = major(facts.st_dev);
  deviceMinor_ = minor(facts.st_dev);
}

bool MappingCheck::isMapped() const {
  if (end_ == 0) return false;
  Query query;
  query.address = begin_;
  if (::ioctl(maps_->get(), kQuery, &query) == 0) {
    return query.begin <= begin_ && query.end >= end_ && query.inode == inode_ && query.deviceMajor == deviceMajor_ &&
           query.deviceMinor == deviceMinor_;
  }
  if (errno == ENOENT) return false;
  // Entries are named after the addresses of mappings of files; anonymous memory that has taken their place has none. Reading one
  // takes a right that few processes have, which is checked after whether there is one.
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", static_cast<unsigned long long>(begin_),
                static_cast<unsigned long long>(end_));
  char target[1];
  return ::readlink(path, target, sizeof target) >= 0 || errno == EPERM || errno == EACCES;
}

}  // namespace jccl
