// Multicast objects of the emulated driver: each stands for a team of devices, each of which binds memory of its own.
// Only the functions of multicast.h access the addresses of a mapped object. The rules are a driver's:
//
//   All devices are added before memory is bound (a driver's cuMulticastBindMem waits for that) and before the object
//   is mapped.
//   Each device is added once, and no more devices than the object was created for.
//   Objects have a handle type, and so has their memory, which comes from cuMemCreate on a device of the team. Whether a
//   driver makes objects without one is not known. Sizes and offsets are whole pages of the driver.
//   Kernels may use an object once every device has bound memory at the accessed offsets.
//
// An object is a file that all its processes map. Memory stays bound until it is unbound, or until the process that
// bound it has neither a handle nor a mapping of the object.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/driver/driver_api.h"

namespace jccl::emulator {

class MulticastObjects {
 public:
  static MulticastObjects& ofThisProcess();

  struct Memory {
    int device = 0;
    bool shareable = false;
  };
  // Stores the facts of memory that this process created.
  void noteMemory(int fd, int device, bool shareable);
  std::optional<Memory> factsOf(int fd);

  driver::Result create(const driver::MulticastProperties& properties, int& fd);
  bool isObject(int fd) const;
  // Called after this process has obtained a handle, and before it closes one.
  void gained(int fd);
  void released(int fd);
  driver::Result addDevice(int fd, int device);
  driver::Result bind(int fd, size_t offset, int memory, size_t memoryOffset, size_t bytes);
  driver::Result unbind(int fd, int device, size_t offset, size_t bytes);

  driver::Result map(void* address, size_t bytes, int fd);
  // Returns 0 if no object is mapped at `address`.
  uint16_t usersOf(const void* address);
  // Both return false if no object is mapped at `address`.
  bool setUsers(void* address, uint16_t users);
  bool unmap(void* address);
  // Called when memory was unmapped, because mappings of objects may have cached the address of that memory.
  void forgetAddresses();

  // Sets `places` to the addresses, in the memory of each device, that a multicast address stands for. Returns false if
  // a kernel with the bit `user` may not access them.
  bool find(const void* address, size_t bytes, uint16_t user, std::vector<void*>& places);

 private:
  struct Shared;
  struct Object {
    Shared* shared = nullptr;
    int holders = 0;  // handles and mappings of this process
  };
  struct Mapping {
    size_t bytes = 0;
    ino_t object = 0;
    uint16_t users = 0;
    std::vector<std::pair<uint8_t*, bool>> members;  // by device: address, and true if it was mapped for this object
  };

  Object* objectOf(int fd);
  void letGo(ino_t number);
  void forget(Mapping& mapping);
  bool locate(Mapping& mapping);

  std::mutex mutex_;
  std::map<ino_t, Object> objects_;
  std::map<ino_t, Memory> memories_;
  std::map<uintptr_t, Mapping> mappings_;
};

}  // namespace jccl::emulator
