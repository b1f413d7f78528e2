// Converts values of device_api.h to and from those of the driver.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"

namespace jccl::device {

inline driver::Address addressOf(const void* memory) { return reinterpret_cast<driver::Address>(memory); }
inline void* pointerOf(driver::Address address) { return reinterpret_cast<void*>(address); }
inline driver::Stream streamOf(Stream stream) { return static_cast<driver::Stream>(stream); }
inline driver::Event eventOf(Event event) { return static_cast<driver::Event>(event); }
inline std::string bytesFact(size_t bytes) { return "bytes=" + std::to_string(bytes); }

// Asks the driver for an attribute of an address. Returns false, and keeps `value`, if the driver does not know it.
template <class Value>
bool ask(driver::PointerAttribute attribute, const void* address, Value& value) {
  Value found{};
  if (driver::driver().pointerAttribute(&found, attribute, addressOf(address)) != driver::Result::Success) return false;
  value = found;
  return true;
}

}  // namespace jccl::device
