// The memory of a rank's connections, and its mappings of other processes' memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_heap.h"

namespace jccl::device {

// A rank's own segment. When the object is destroyed, memory of the heap returns to the heap. Memory behind a
// descriptor is unmapped, and lives on in the processes that have mapped it.
class DeviceSegment {
 public:
  DeviceSegment() = default;
  ~DeviceSegment() { reset(); }
  DeviceSegment(DeviceSegment&& other) noexcept { *this = std::move(other); }
  DeviceSegment& operator=(DeviceSegment&& other) noexcept {
    if (this != &other) {
      reset();
      heap_ = std::move(other.heap_);
      mapped_ = std::exchange(other.mapped_, {});
      users_ = std::exchange(other.users_, {});
    }
    return *this;
  }

  // Takes memory of the current device from the heap, not initialised. If `exportable`, exportMemory() makes a handle of
  // it.
  static Status onHeap(size_t bytes, bool exportable, DeviceSegment& segment);
  // Allocates memory of the current device behind a file descriptor, and returns the descriptor to the caller.
  static Status behindDescriptor(size_t bytes, DeviceSegment& segment, UniqueFd& descriptor);

  // Lets kernels of another device, which can reach the current one, use the memory.
  Status giveAccess(int other);
  // Returns the devices that have mapped the memory.
  const std::vector<int>& users() const { return users_; }

  uint8_t* base() const { return hasDescriptor() ? static_cast<uint8_t*>(mapped_.address) : heap_.base(); }
  size_t bytes() const { return hasDescriptor() ? mapped_.bytes : heap_.bytes(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(base());
  }
  bool hasDescriptor() const { return mapped_.address != nullptr; }
  // Returns the driver's handle of memory behind a descriptor, else 0.
  uint64_t allocation() const { return mapped_.allocation; }
  // Keeps the memory for good, because a kernel may still use it.
  void leak() {
    heap_.leak();
    mapped_ = {};
  }
  void reset();

 private:
  HeapMemory heap_;
  DescriptorMemory mapped_;
  std::vector<int> users_;
};

// Memory of another process, closed when its owner is destroyed.
class PeerMemory {
 public:
  PeerMemory() = default;
  ~PeerMemory() { reset(); }
  PeerMemory(PeerMemory&& other) noexcept { *this = std::move(other); }
  PeerMemory& operator=(PeerMemory&& other) noexcept {
    if (this != &other) {
      reset();
      opened_ = std::exchange(other.opened_, nullptr);
      mapped_ = std::exchange(other.mapped_, {});
    }
    return *this;
  }

  static Status open(const MemoryHandle& handle, PeerMemory& memory) {
    memory.reset();
    return openMemory(handle, memory.opened_);
  }
  static Status map(int descriptor, size_t bytes, PeerMemory& memory) {
    memory.reset();
    return importDescriptor(descriptor, bytes, memory.mapped_);
  }

  uint8_t* base() const { return static_cast<uint8_t*>(mapped_.address != nullptr ? mapped_.address : opened_); }
  // Keeps the memory open for good, because a kernel may still use it.
  void leak() {
    opened_ = nullptr;
    mapped_ = {};
  }
  void reset();

 private:
  void* opened_ = nullptr;
  DescriptorMemory mapped_;
};

}  // namespace jccl::device
