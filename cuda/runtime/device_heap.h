// Device and pinned memory of this process. What is given back is kept and used again: freeing would wait for every
// kernel on the device, among them those of ranks that wait for us.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace jccl::device {

// Memory that goes back to the heap with its owner.
class HeapMemory {
 public:
  enum class Kind : uint8_t { Device, Pinned };

  HeapMemory() = default;
  ~HeapMemory() { reset(); }
  HeapMemory(HeapMemory&& other) noexcept { *this = static_cast<HeapMemory&&>(other); }
  HeapMemory& operator=(HeapMemory&& other) noexcept;

  // Of the current device; not initialised. Begins an allocation of its own, as exporting memory needs it.
  static Status device(size_t bytes, HeapMemory& memory) { return take(Kind::Device, bytes, memory); }
  // Of the host, mapped into all devices; zeroed.
  static Status pinned(size_t bytes, HeapMemory& memory) { return take(Kind::Pinned, bytes, memory); }

  uint8_t* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as(size_t offset = 0) const {
    return reinterpret_cast<T*>(base_ + offset);
  }
  void reset();
  // Never goes back: a kernel may still use it.
  void leak() { base_ = nullptr; }

 private:
  static Status take(Kind kind, size_t bytes, HeapMemory& memory);

  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;
  Kind kind_ = Kind::Device;
};

}  // namespace jccl::device
