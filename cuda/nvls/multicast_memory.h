// Memory of this rank that is bound to a multicast object of the driver. One address of the object stands for the same
// memory of all ranks.
//
// One rank creates the object; the others join by its handle or by a descriptor. When all have joined, all bind. The
// driver's cuMulticastBindMem waits for devices that have not joined, so ranks first agree that all have.
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

  // Returns an error with the reason if the current device cannot join a multicast object.
  static Status supported();

  // Creates an object for `devices` devices, with at least `bytes` on each.
  Status create(int devices, size_t bytes);
  // Creates a descriptor for another process; the caller closes it.
  Status exportDescriptor(int& descriptor) const;
  // open() uses the object of a rank in this process, by its handle(). import() uses the object of another process, by
  // a descriptor that the caller keeps. `bytes` is the bytes() of that rank's object.
  void open(uint64_t handle, size_t bytes);
  Status import(int descriptor, size_t bytes);

  // Adds the current device to the object.
  Status join();
  // Binds memory of the current device, not initialised. All ranks must have joined.
  Status bind();
  // Binds an allocation of the current device, whose owner keeps it until this object is reset. It must have bytes()
  // bytes.
  Status bind(uint64_t allocation);

  uint64_t handle() const { return object_; }
  size_t bytes() const { return bytes_; }
  bool isReady() const { return multicast_ != nullptr; }
  uint8_t* memory() const { return static_cast<uint8_t*>(memory_); }
  uint8_t* multicast() const { return static_cast<uint8_t*>(multicast_); }

  // Keeps the memory for good, because a kernel may still use it.
  void leak();
  // Frees the memory. No kernel of any rank may use it any more.
  void reset();

 private:
  void hold(uint64_t handle, size_t bytes);
  Status bindAndMap(uint64_t allocation, int device, size_t unit);

  uint64_t object_ = 0;  // the driver's handle of the multicast object
  size_t bytes_ = 0;
  uint64_t allocation_ = 0;  // 0 if another object owns the memory
  bool isBound_ = false;
  void* memory_ = nullptr;
  void* multicast_ = nullptr;
};

}  // namespace jccl::device
