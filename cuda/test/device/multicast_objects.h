// Multicast objects of the emulated driver: a team of devices, each of which binds memory of its own. A mapped object has
// addresses that only the multicast functions of memory.h take. Rules of a driver:
//
//   all devices are added before memory is bound, for which a driver's cuMulticastBindMem waits, and before the object is mapped;
//   each device once, and no more than the object is for;
//   memory is of cuMemCreate, of a device of the team, and shareable if the object is; everything is whole pages of the driver's;
//   kernels use an object when every device has bound memory where they access it.
//
// An object is a file that all its processes map. The memory that a device has bound stays bound until it is unbound, or until
// its process has neither a handle of the object nor a mapping.
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
  // Of memory that this process made.
  void noteMemory(int fd, int device, bool shareable);
  std::optional<Memory> factsOf(int fd);

  driver::Result create(const driver::MulticastProperties& properties, int& fd);
  bool isObject(int fd) const;
  // A handle more of this process, and one less; the caller closes it.
  void gained(int fd);
  void released(int fd);
  driver::Result addDevice(int fd, int device);
  driver::Result bind(int fd, size_t offset, int memory, size_t memoryOffset, size_t bytes);
  driver::Result unbind(int fd, int device, size_t offset, size_t bytes);

  driver::Result map(void* address, size_t bytes, int fd);
  // False if nothing of these is mapped there.
  bool setUsers(void* address, uint16_t users);
  bool unmap(void* address);
  // Memory was unmapped, under whose address its bytes may have been known here.
  void forgetAddresses();

  // Where the bytes of a multicast address are in the memory of each device; false if a kernel with this bit may not access them.
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
    std::vector<std::pair<uint8_t*, bool>> members;  // and whether it is mapped for this alone
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
