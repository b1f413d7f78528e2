// Values for self-tests of reductions, with results that are known exactly: any bits for integers, small whole numbers
// for floats. All float types represent these numbers, and their sums over at most 64 ranks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace jccl::device {

class TestValues {
 public:
  explicit TestValues(OperationCode code) : code_(code), bits_(static_cast<int>(8 * sizeOf(code.type))) {}

  // Returns the bits of a rank's input element.
  uint64_t input(int rank, size_t index) const {
    return isFloat() ? floatOf(numberOf(rank, index)) : integer(rank, index);
  }

  // Returns the bits of an element of the result.
  uint64_t result(int ranks, size_t index) const {
    if (isFloat()) {
      unsigned sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += numberOf(rank, index);
      return floatOf(sum);
    }
    uint64_t result = integer(0, index);
    for (int rank = 1; rank < ranks; ++rank) result = fold(result, integer(rank, index));
    return result;
  }

 private:
  bool isFloat() const {
    return code_.type == DataType::Float16 || code_.type == DataType::Bfloat16 || code_.type == DataType::Float32 ||
           code_.type == DataType::Float64;
  }
  static uint64_t mixed(int rank, size_t index) {
    uint64_t x = (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u ^ (index + 1) * 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 29;
  }
  static unsigned numberOf(int rank, size_t index) { return static_cast<unsigned>(mixed(rank, index) >> 40 & 3); }
  uint64_t truncated(uint64_t value) const { return bits_ == 64 ? value : value & ((uint64_t{1} << bits_) - 1); }
  uint64_t integer(int rank, size_t index) const { return truncated(mixed(rank, index)); }

  // Maps the signed range onto the unsigned one, in order.
  uint64_t ordered(uint64_t value) const {
    return isSignedInteger(code_.type) ? value ^ uint64_t { 1 } << (bits_ - 1) : value;
  }
  uint64_t fold(uint64_t a, uint64_t b) const {
    switch (code_.op) {
      case ReduceOp::Min:
        return ordered(a) < ordered(b) ? a : b;
      case ReduceOp::Max:
        return ordered(a) < ordered(b) ? b : a;
      case ReduceOp::And:
        return a & b;
      case ReduceOp::Or:
        return a | b;
      case ReduceOp::Xor:
        return a ^ b;
      default:
        return truncated(a + b);
    }
  }
  // Returns the bits of a float that is a whole number below 256.
  uint64_t floatOf(unsigned number) const {
    const uint32_t single = std::bit_cast<uint32_t>(static_cast<float>(number));
    switch (code_.type) {
      case DataType::Float64:
        return std::bit_cast<uint64_t>(static_cast<double>(number));
      case DataType::Float32:
        return single;
      case DataType::Bfloat16:
        return single >> 16;
      default:  // half precision: its exponent has another bias, 15 instead of 127, and its fraction 10 bits instead of 23
        return number == 0 ? 0 : (single >> 13) - ((127 - 15) << 10);
    }
  }

  const OperationCode code_;
  const int bits_;
};

}  // namespace jccl::device
