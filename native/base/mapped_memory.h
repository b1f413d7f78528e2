// Owns a memory mapping and unmaps it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.h"

namespace jccl {

class MappedMemory {
 public:
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    if (this != &other) {
      unmap();
      base_ = std::exchange(other.base_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~MappedMemory() { unmap(); }

  // Maps `bytes` of a file that is at least that long, for reading and writing, shared.
  static Status mapFile(int fd, size_t bytes, MappedMemory& out) {
    return map(fd, bytes, MAP_SHARED | MAP_NORESERVE, out);
  }

  // Maps zeroed memory without a file, which takes pages only when touched. The mapping is shared, so that processes
  // forked later use the same memory.
  static Status mapAnonymous(size_t bytes, MappedMemory& out) {
    return map(-1, bytes, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, out);
  }

  uint8_t* base() const { return static_cast<uint8_t*>(base_); }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  static Status map(int fd, size_t bytes, int flags, MappedMemory& out) {
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (base == MAP_FAILED) return Status::system("mmap", "bytes=" + std::to_string(bytes));
    out.unmap();
    out.base_ = base;
    out.bytes_ = bytes;
    return Status::ok();
  }
  void unmap() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
    base_ = nullptr;
    bytes_ = 0;
  }

  void* base_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace jccl
