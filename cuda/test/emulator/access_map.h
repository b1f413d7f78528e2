// Rights of kernels to access memory, by page. Every kernel may access memory outside the map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jccl::emulator {

struct AccessMap {
  static constexpr size_t kPageBytes = 4096;

  uintptr_t begin = 0;
  size_t bytes = 0;
  uint16_t* users = nullptr;  // for each page, the bits of the launches that may access it

  uint16_t* usersOf(const void* address) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - begin;
    return offset < bytes ? users + offset / kPageBytes : nullptr;
  }
};

// Set once, before kernels run.
inline AccessMap accessMap;

// Faults of the path from a launch's GPU to memory.
constexpr unsigned kReadsWrong = 1;  // loads return bytes of ones
constexpr unsigned kWritesLost = 2;  // stores have no effect

// Returns the faults that a launch meets at an address. `user` is the launch's bit in the map, `kernel` its name. Null
// if there are no faults.
inline unsigned (*peerFaults)(const void* address, uint16_t user, const std::string& kernel) = nullptr;

// Sets `places` to the addresses, in the memory of each device, that a multicast address stands for. Returns false if a
// launch with the bit `user` may not access them. Null while the process has no multicast objects.
inline bool (*multicastPlaces)(const void* address, size_t bytes, uint16_t user, std::vector<void*>& places) = nullptr;

}  // namespace jccl::emulator
