// The vectorised conversions of 8-bit floats. They are compiled once for each instruction set, like the kernels that
// use them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jccl::test {

struct Float8Vectors {
  // Convert a register at a time. Counts are multiples of 16.
  void (*widen)(const uint8_t* from, float* to, size_t count);
  void (*narrow)(const float* from, uint8_t* to, size_t count);
};

struct Float8VectorsOfIsa {
  Float8Vectors e4m3, e5m2;
};

extern const Float8VectorsOfIsa kFloat8Portable;
extern const Float8VectorsOfIsa kFloat8Avx2;
extern const Float8VectorsOfIsa kFloat8Avx512;

}  // namespace jccl::test
