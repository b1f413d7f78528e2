// Which kernels may access which memory, by page. Memory outside the map is everybody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace jccl::emulator {

struct AccessMap {
  static constexpr size_t kPageBytes = 4096;

  uintptr_t begin = 0;
  size_t bytes = 0;
  uint16_t* users = nullptr;  // of each page: the bits of launches that may access it

  uint16_t* usersOf(const void* address) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - begin;
    return offset < bytes ? users + offset / kPageBytes : nullptr;
  }
};

// Set once, before kernels run.
inline AccessMap accessMap;

// Where the bytes of a multicast address are in the memory of each device; false if a launch with this bit may not access them.
inline bool (*multicastPlaces)(const void* address, size_t bytes, uint16_t user, std::vector<void*>& places) = nullptr;

}  // namespace jccl::emulator
