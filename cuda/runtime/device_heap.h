// Device and pinned memory of this process. Freed memory is kept for later use: returning it to the driver would wait
// for every kernel on the device, including kernels of ranks that wait for this one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace jccl::device {

// Memory that returns to the heap when its owner is destroyed.
class HeapMemory {
 public:
  enum class Kind : uint8_t { Device, Pinned };

  HeapMemory() = default;
  ~HeapMemory() { reset(); }
  HeapMemory(HeapMemory&& other) noexcept { *this = static_cast<HeapMemory&&>(other); }
  HeapMemory& operator=(HeapMemory&& other) noexcept;

  // Takes memory of the current device from the heap, not initialised. Each piece of memory is an allocation of its
  // own, because an exported handle refers to a whole allocation.
  static Status device(size_t bytes, HeapMemory& memory) { return take(Kind::Device, bytes, memory); }
  // Takes zeroed host memory, mapped into all devices.
  static Status pinned(size_t bytes, HeapMemory& memory) { return take(Kind::Pinned, bytes, memory); }

  uint8_t* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as(size_t offset = 0) const {
    return reinterpret_cast<T*>(base_ + offset);
  }
  void reset();
  // Keeps the memory out of the heap for good, because a kernel may still use it.
  void leak() { base_ = nullptr; }

 private:
  static Status take(Kind kind, size_t bytes, HeapMemory& memory);

  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;
  Kind kind_ = Kind::Device;
};

}  // namespace jccl::device
