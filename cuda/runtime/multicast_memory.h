// Memory of this rank that is bound to a multicast object of the driver, which stands for the same memory of all ranks.
//
// One rank creates the object, the others join by its handle or by a descriptor; when all have joined, all bind. A driver's
// cuMulticastBindMem waits for those that have not joined, so ranks agree that all have before any binds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.h"

namespace jccl::device {

class MulticastMemory {
 public:
  MulticastMemory() = default;
  ~MulticastMemory() { reset(); }
  MulticastMemory(MulticastMemory&& other) noexcept { *this = std::move(other); }
  MulticastMemory& operator=(MulticastMemory&& other) noexcept;

  // Whether the current device can be in a team; why not.
  static Status supported();

  // The object, of at least so many bytes of each of so many devices; `shareable` with other processes.
  Status create(int devices, size_t bytes, bool shareable);
  // For another process, which the caller closes.
  Status exportDescriptor(int& descriptor) const;
  // The object of another rank with its bytes(): of a rank of this process by its handle(), or of another process by a
  // descriptor, which stays the caller's.
  void open(uint64_t handle, size_t bytes, bool shareable);
  Status import(int descriptor, size_t bytes);

  // Adds the current device to the team.
  Status join();
  // When all have joined: binds memory of the current device, not initialised.
  Status bind();

  uint64_t handle() const { return object_; }
  size_t bytes() const { return bytes_; }
  bool isReady() const { return multicast_ != nullptr; }
  uint8_t* memory() const { return static_cast<uint8_t*>(memory_); }
  uint8_t* multicast() const { return static_cast<uint8_t*>(multicast_); }

  // Never goes back: a kernel may still use it.
  void leak();
  // No kernel of any rank uses it any more.
  void reset();

 private:
  void hold(uint64_t handle, size_t bytes, bool shareable);

  uint64_t object_ = 0;  // the driver's handle
  size_t bytes_ = 0;
  bool shareable_ = false;
  uint64_t allocation_ = 0;
  bool isBound_ = false;
  void* memory_ = nullptr;
  void* multicast_ = nullptr;
};

}  // namespace jccl::device
