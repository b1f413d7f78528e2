// Assigns types to kernels. Signed and unsigned integers of one width share a kernel; operations that do not reduce
// move bytes.
#pragma once

#include "engine/operation.h"

namespace jccl::device {

enum class ElementClass : uint8_t {
  Int8 = 0,
  Int16 = 1,
  Int32 = 2,
  Int64 = 3,
  Float16 = 4,
  Bfloat16 = 5,
  Float32 = 6,
  Float64 = 7,
  E4m3 = 8,
  E5m2 = 9
};
constexpr int kElementClassCount = 10;

constexpr const char* nameOf(ElementClass element) {
  constexpr const char* names[kElementClassCount] = {"int8",     "int16",   "int32",   "int64",       "float16",
                                                     "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2"};
  return names[static_cast<int>(element)];
}

constexpr ElementClass elementClassOf(Collective collective, DataType type) {
  if (!reduces(collective)) return ElementClass::Int8;
  switch (type) {
    case DataType::Int8:
    case DataType::Uint8:
      return ElementClass::Int8;
    case DataType::Int16:
    case DataType::Uint16:
      return ElementClass::Int16;
    case DataType::Int32:
    case DataType::Uint32:
      return ElementClass::Int32;
    case DataType::Int64:
    case DataType::Uint64:
      return ElementClass::Int64;
    case DataType::Float16:
      return ElementClass::Float16;
    case DataType::Bfloat16:
      return ElementClass::Bfloat16;
    case DataType::Float32:
      return ElementClass::Float32;
    case DataType::Float64:
      return ElementClass::Float64;
    case DataType::Float8E4m3:
      return ElementClass::E4m3;
    case DataType::Float8E5m2:
      return ElementClass::E5m2;
  }
  return ElementClass::Int8;
}

}  // namespace jccl::device
