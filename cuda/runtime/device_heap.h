// Device and pinned memory of this process. Freed memory is kept for later use: returning it to the driver would wait
// for kernels, including kernels of ranks that wait for this one. Allocating waits for kernels, too, except device
// memory by virtual memory management; so some pinned memory is kept free in advance.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace jccl::device {

// Memory that returns to the heap when its owner is destroyed.
class HeapMemory {
 public:
  enum class Kind : uint8_t {
    Device,      // of virtual memory management, or plain if the device does not support that
    Exportable,  // plain, as legacy handles need; allocating waits for kernels of this device and of its peers
    Pinned
  };

  HeapMemory() = default;
  ~HeapMemory() { reset(); }
  HeapMemory(HeapMemory&& other) noexcept { *this = static_cast<HeapMemory&&>(other); }
  HeapMemory& operator=(HeapMemory&& other) noexcept;

  // Takes memory of the current device from the heap, not initialised. Each piece of memory is an allocation of its
  // own, because an exported handle refers to a whole allocation.
  static Status device(size_t bytes, HeapMemory& memory) { return take(Kind::Device, bytes, memory); }
  static Status exportable(size_t bytes, HeapMemory& memory) { return take(Kind::Exportable, bytes, memory); }
  // Takes zeroed host memory, mapped into all devices.
  static Status pinned(size_t bytes, HeapMemory& memory) { return take(Kind::Pinned, bytes, memory); }
  // Allocates pinned memory until the heap has as much free memory as is in use, so that another communicator can be
  // made while kernels run. Waits for all kernels.
  static Status reservePinned();

  uint8_t* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as(size_t offset = 0) const {
    return reinterpret_cast<T*>(base_ + offset);
  }
  // Returns true if the memory is mapped by virtual memory management: then only this device can use it, until letUse().
  bool isMapped() const { return mapped_; }
  void reset();
  // Keeps the memory out of the heap for good, because a kernel may still use it.
  void leak() { base_ = nullptr; }

 private:
  static Status take(Kind kind, size_t bytes, HeapMemory& memory);

  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  int device_ = 0;
  Kind kind_ = Kind::Device;
  bool mapped_ = false;
};

}  // namespace jccl::device
