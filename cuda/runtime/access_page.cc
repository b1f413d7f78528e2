#include "cuda/runtime/access_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace jccl::device {
namespace {

constexpr size_t kBytes = 4096;

// A lock on the whole file. The lock belongs to an open file description. Peers share the description of the memfd's
// descriptor, so the owner opens the file a second time and locks that.
struct ::flock wholeFile() {
  struct ::flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Status AccessPage::make(const uint64_t token[2], int rank, AccessPage& page, UniqueFd& descriptor) {
  AccessPage made;
  descriptor.reset(::memfd_create("jccl-access", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor || ::ftruncate(descriptor.get(), kBytes) != 0 ||
      ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return Status::system("memfd_create", "bytes=" + std::to_string(kBytes));
  }
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor.get());
  made.file_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct ::flock lock = wholeFile();
  if (!made.file_ || ::fcntl(made.file_.get(), F_OFD_SETLK, &lock) != 0) return Status::system("open", "path=" + path);
  if (Status status = MappedMemory::mapFile(descriptor.get(), kBytes, made.memory_); !status) return status;
  std::copy_n(token, 2, made.words()->token);
  made.words()->rank = rank;
  page = std::move(made);
  return Status::ok();
}

Status AccessPage::open(UniqueFd descriptor, const uint64_t token[2], int rank, AccessPage& page) {
  struct stat facts {};
  if (::fstat(descriptor.get(), &facts) != 0 || facts.st_size != static_cast<off_t>(kBytes)) {
    return Status::transport("descriptor=" + std::to_string(descriptor.get()) +
                             ", expected the access page of rank=" + std::to_string(rank));
  }
  AccessPage opened;
  if (Status status = MappedMemory::mapFile(descriptor.get(), kBytes, opened.memory_); !status) return status;
  if (!std::equal(token, token + 2, opened.words()->token) || opened.words()->rank != rank) {
    return Status::transport("access page of rank=" + std::to_string(opened.words()->rank) +
                             ", expected that of rank=" + std::to_string(rank) + " of this communicator");
  }
  opened.file_ = std::move(descriptor);
  page = std::move(opened);
  return Status::ok();
}

bool AccessPage::isReleased() const {
  if (words()->answered.load() != 0) return true;
  struct ::flock lock = wholeFile();
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace jccl::device
