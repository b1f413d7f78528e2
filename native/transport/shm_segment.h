// Shared memory segments: created in one process, and passed to other processes of the same host as file descriptors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/status.h"

namespace jccl {

// Source of a segment's pages.
enum class ShmBacking : uint8_t {
  Auto,   // memfd if the kernel allows it, else /dev/shm
  Memfd,  // anonymous: has no name, no size limit but memory, and leaves nothing behind if the process is killed
  // a nameless file in /dev/shm, fully reserved by create(), which therefore fails if /dev/shm is full, so that no
  // access raises SIGBUS later
  DevShm,
};

// A mapping of a segment, and its descriptor if this process created it. Zeroed when created. Unmapped and closed with
// the object; the pages live until the last process has unmapped them.
class ShmSegment {
 public:
  ShmSegment() = default;
  ShmSegment(ShmSegment&& other) noexcept { *this = std::move(other); }
  ShmSegment& operator=(ShmSegment&& other) noexcept;
  ~ShmSegment() { reset(); }

  // Makes a segment of `bytes`, rounded up to whole pages. A memfd is sealed, so that its size cannot change, and takes
  // pages when they are first touched.
  static Status create(const char* label, size_t bytes, ShmBacking backing, ShmSegment* segment);

  // Maps a descriptor that came from another process, and closes it. Refuses one whose size is not exactly
  // `expectedBytes` (0: any size), or which its maker could still shrink.
  static Status map(UniqueFd fd, size_t expectedBytes, ShmSegment* segment);

  // Sets a live flag in the segment's last eight bytes, for isLive().
  void markLive();
  // Returns true while the owner of a segment with a live flag, possibly another process, has not discarded it.
  bool isLive() const;

  // Frees the pages at once, also for other processes that have mapped them: all pages read as zeros from now on.
  // Closes the descriptor. With `keepsAddresses`, private zero memory without pages replaces the mapping.
  Status discard(bool keepsAddresses);

  // Closes the descriptor of a segment that no other process will map any more.
  void closeDescriptor() { fd_.reset(); }
  // Returns the number of bytes in pages that are allocated.
  size_t residentBytes() const;

  void reset();

  // Replaces the pages of [offset, offset + bytes), widened to whole huge pages inside the segment, by huge pages, and
  // allocates all of them. Other threads may read and write in the meantime. Returns the number of bytes that were
  // replaced: older kernels, and kernels short of memory, leave the pages as they are, which is logged at debug level.
  size_t takeHugePages(size_t offset, size_t bytes) const;

  // Replaces the pages of [offset, offset + bytes), widened to whole pages, by copies that only this process has. Other
  // processes keep the old pages. What other threads store into these pages during the call may be lost.
  Status isolate(size_t offset, size_t bytes);
  // Like isolate(), for whole pages at an address of this process, which need not be in a segment's own mapping.
  static Status isolatePages(uint8_t* begin, size_t length);
  // Returns true if all pages are still those that other processes map.
  bool isShared() const { return shared_; }

  uint8_t* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }  // -1 for a segment that another process created
  ShmBacking backing() const { return backing_; }
  explicit operator bool() const { return address_ != nullptr; }

 private:
  uint64_t& lastWord() const;
  Status mapPages(const char* label, size_t bytes);

  UniqueFd fd_;
  uint8_t* address_ = nullptr;
  size_t bytes_ = 0;
  ShmBacking backing_ = ShmBacking::Auto;
  bool shared_ = true;
};

// Checks the free space before a segment in /dev/shm is made. An error names the requested size, the free size and the
// remedy.
Status checkSpace(const char* label, size_t wantedBytes, size_t freeBytes);

}  // namespace jccl
