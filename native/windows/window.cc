#include "windows/window.h"

#include <cstring>

namespace jccl {
namespace {

template <typename Value>
bool copyWhole(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes != sizeof(Value) || reinterpret_cast<uintptr_t>(to) % sizeof(Value) != 0 ||
      reinterpret_cast<uintptr_t>(from) % sizeof(Value) != 0) {
    return false;
  }
  auto& source = *reinterpret_cast<Value*>(const_cast<uint8_t*>(from));
  const Value value = std::atomic_ref<Value>(source).load(std::memory_order_acquire);
  std::atomic_ref<Value>(*reinterpret_cast<Value*>(to)).store(value, std::memory_order_release);
  return true;
}

}  // namespace

void copyWindowData(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes <= sizeof(uint64_t) && (copyWhole<uint64_t>(to, from, bytes) || copyWhole<uint32_t>(to, from, bytes) ||
                                    copyWhole<uint16_t>(to, from, bytes) || copyWhole<uint8_t>(to, from, bytes))) {
    return;
  }
  std::memmove(to, from, bytes);
}

uint64_t addToWindow(uint8_t* number, uint64_t addend) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(number)).fetch_add(addend, std::memory_order_acq_rel);
}

}  // namespace jccl
