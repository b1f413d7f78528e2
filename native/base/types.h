// Element types and reductions of the library. Java knows their numbers; jni/numbers.cc compares them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function.h"

namespace jccl {

enum class DataType : uint8_t {
  Int8 = 0,
  Uint8 = 1,
  Int32 = 2,
  Uint32 = 3,
  Int64 = 4,
  Uint64 = 5,
  Float16 = 6,
  Bfloat16 = 7,
  Float32 = 8,
  Float64 = 9,
  Float8E4m3 = 10,  // see float8.h
  Float8E5m2 = 11,
  Int16 = 12,
  Uint16 = 13,
};

inline constexpr int kDataTypeCount = 14;

enum class ReduceOp : uint8_t {
  Sum = 0,
  Prod = 1,
  Min = 2,
  Max = 3,
  Avg = 4,
  And = 5,  // And, Or and Xor work bit by bit, on integers only
  Or = 6,
  Xor = 7,
};

inline constexpr int kReduceOpCount = 8;

JCCL_FN constexpr bool isBitwise(ReduceOp op) noexcept { return op >= ReduceOp::And; }

// Stands in place of a ReduceOp for a user-defined reduction. The collective only exchanges elements, with counts as in
// allToAllV; the caller reduces the received elements.
inline constexpr auto kUserReduction = static_cast<ReduceOp>(kReduceOpCount);

JCCL_FN constexpr bool isInteger(DataType type) noexcept {
  return type < DataType::Float16 || type == DataType::Int16 || type == DataType::Uint16;
}
JCCL_FN constexpr bool isSignedInteger(DataType type) noexcept {
  return type == DataType::Int8 || type == DataType::Int16 || type == DataType::Int32 || type == DataType::Int64;
}

// Returns true if `op` works on elements of this type.
JCCL_FN constexpr bool supports(ReduceOp op, DataType type) noexcept { return !isBitwise(op) || isInteger(type); }

// Returns the bytes of one element; 0 if the number is no type.
JCCL_FN constexpr size_t sizeOf(DataType type) noexcept {
  switch (type) {
    case DataType::Int8:
    case DataType::Uint8:
    case DataType::Float8E4m3:
    case DataType::Float8E5m2:
      return 1;
    case DataType::Int16:
    case DataType::Uint16:
    case DataType::Float16:
    case DataType::Bfloat16:
      return 2;
    case DataType::Int32:
    case DataType::Uint32:
    case DataType::Float32:
      return 4;
    case DataType::Int64:
    case DataType::Uint64:
    case DataType::Float64:
      return 8;
  }
  return 0;
}

constexpr const char* nameOf(DataType type) noexcept {
  constexpr const char* names[kDataTypeCount] = {"int8",        "uint8",       "int32",    "uint32",  "int64",
                                                 "uint64",      "float16",     "bfloat16", "float32", "float64",
                                                 "float8_e4m3", "float8_e5m2", "int16",    "uint16"};
  const auto index = static_cast<unsigned>(type);
  return index < kDataTypeCount ? names[index] : "unknown";
}

constexpr const char* nameOf(ReduceOp op) noexcept {
  constexpr const char* names[kReduceOpCount] = {"sum", "prod", "min", "max", "avg", "band", "bor", "bxor"};
  const auto index = static_cast<unsigned>(op);
  return index < kReduceOpCount ? names[index] : op == kUserReduction ? "user" : "unknown";
}

}  // namespace jccl
