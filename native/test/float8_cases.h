// Definitions of the 8-bit floats, and float32 numbers whose conversion reveals mistakes.
#pragma once

#include <limits>
#include <vector>

#include "base/types.h"
#include "test/reduce_reference.h"

namespace jccl::test {

struct Float8Definition {
  DataType type;
  float (*widen)(uint8_t);
  uint8_t (*narrow)(float);
  uint8_t largest;  // the code of the largest number
};

constexpr Float8Definition kE4m3 = {DataType::Float8E4m3, reference::fromE4m3, reference::toE4m3, 0x7e};
constexpr Float8Definition kE5m2 = {DataType::Float8E5m2, reference::fromE5m2, reference::toE5m2, 0x7b};

inline std::vector<float> withBothSigns(std::vector<float> numbers) {
  const size_t given = numbers.size();
  for (size_t i = 0; i < given; ++i) {
    numbers.push_back(reference::bits<float>(reference::bits<uint32_t>(numbers[i]) ^ 0x80000000u));
  }
  return numbers;
}

// Returns every number of the format, the middle between each two neighbours, and the three float32 numbers on either
// side of each of these. The number that would follow the largest is included.
inline std::vector<float> boundariesOf(const Float8Definition& format) {
  std::vector<float> numbers;
  for (int code = 0; code <= format.largest; ++code) {
    const float here = format.widen(static_cast<uint8_t>(code));
    const float next = code < format.largest ? format.widen(static_cast<uint8_t>(code + 1))
                                             : here + (here - format.widen(static_cast<uint8_t>(code - 1)));
    for (const float number : {here, (here + next) / 2, next}) {
      const auto word = reference::bits<uint32_t>(number);
      for (int offset = -3; offset <= 3; ++offset) {
        if (word != 0 || offset >= 0) numbers.push_back(reference::bits<float>(word + static_cast<uint32_t>(offset)));
      }
    }
  }
  return withBothSigns(numbers);
}

// Returns the smallest and largest numbers of float32, its infinities, and quiet and signalling NaNs.
inline std::vector<float> extremes() {
  using Limits = std::numeric_limits<float>;
  std::vector<float> numbers = {0.0f, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity()};
  for (const uint32_t nan : {0x7f800001u, 0x7fa00000u, 0x7fbfffffu, 0x7fc00000u, 0x7fe00000u, 0x7fffffffu}) {
    numbers.push_back(reference::bits<float>(nan));
  }
  return withBothSigns(numbers);
}

// Returns about half a million numbers, spread evenly over the bit patterns of float32.
inline std::vector<float> spreadNumbers() {
  std::vector<float> numbers;
  for (uint32_t word = 0; word < 0x80000000u; word += 8191) numbers.push_back(reference::bits<float>(word));
  return withBothSigns(numbers);
}

}  // namespace jccl::test
