// Memory that other processes of this host can map: created here, passed on as a file descriptor.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/status.h"

namespace jccl {

// Where the pages of a segment come from.
enum class ShmBacking : uint8_t {
  Auto,    // memfd where the kernel allows it, else /dev/shm
  Memfd,   // anonymous: no name, no size limit but memory, nothing left behind by a killed process
  DevShm,  // a nameless file in /dev/shm, reserved in full when created, so that a full /dev/shm is an error here and
           // not a SIGBUS later
};

// A mapping, and the descriptor behind it where the segment was created here. Zeroed when created. Unmapped and closed with
// the object; the pages live until the last process has unmapped them.
class ShmSegment {
 public:
  ShmSegment() = default;
  ShmSegment(ShmSegment&& other) noexcept { *this = std::move(other); }
  ShmSegment& operator=(ShmSegment&& other) noexcept;
  ~ShmSegment() { reset(); }

  // Makes a segment of `bytes` (rounded up to whole pages) whose size cannot change any more. Pages of a memfd are
  // taken when first touched.
  static Status create(const char* label, size_t bytes, ShmBacking backing, ShmSegment* segment);

  // Maps a descriptor that came from another process, and closes it. Refuses one whose size is not exactly `expectedBytes`
  // (0: any), or which its maker could still shrink under us.
  static Status map(UniqueFd fd, size_t expectedBytes, ShmSegment* segment);

  // Writes a live flag into the segment's last eight bytes, for isLive().
  void markLive();
  // Whether a segment with a live flag has not been discarded by its owner, possibly another process.
  bool isLive() const;

  // Gives the pages back at once, also those that other processes have mapped: all read zeros from now on. Closes
  // the descriptor. With `keepsAddresses` private memory, zero and not yet backed by pages, replaces the mapping.
  Status discard(bool keepsAddresses);

  void reset();

  // Replaces the pages of [offset, offset + bytes), widened to whole huge pages inside the segment, by huge pages, and takes
  // memory for all of them. Others may read and write meanwhile. Returns for how many bytes the kernel did so: older kernels
  // and short memory leave the pages as they are, which a debug log line says.
  size_t takeHugePages(size_t offset, size_t bytes) const;

  // Replaces the pages of [offset, offset + bytes), widened to whole pages, by copies that only this process has. Other
  // processes keep the old ones. What other threads store into these pages meanwhile may be lost.
  Status isolate(size_t offset, size_t bytes);
  // The same for whole pages by their address, wherever they are mapped.
  static Status isolatePages(uint8_t* begin, size_t length);
  // Whether all pages are still the ones that other processes map.
  bool isShared() const { return shared_; }

  uint8_t* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }  // -1 of an imported one
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

// The check that precedes a /dev/shm segment: Ok, or which size was requested, what is free, and the remedy.
Status checkSpace(const char* label, size_t wantedBytes, size_t freeBytes);

}  // namespace jccl
