// Implements float8_vectors.h; float8_vectors_*.cc compile this file, each for one instruction set.
#pragma once

#include "primitives/reduce_vector.h"
#include "test/float8_vectors.h"

namespace jccl::test {
namespace {

constexpr int kLanes = kRegisterBytes / sizeof(float);

template <class Format>
void widenAll(const uint8_t* from, float* to, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    uint32_t words[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) words[lane] = from[i + lane];
    const auto values = Format::template widen<kRegisterBytes>(
        loadUnaligned<Vec<uint32_t, kRegisterBytes>>(reinterpret_cast<const char*>(words)));
    storeUnaligned(reinterpret_cast<char*>(to + i), values);
  }
}

template <class Format>
void narrowAll(const float* from, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    const auto words = Format::template narrow<kRegisterBytes>(
        loadUnaligned<Vec<float, kRegisterBytes>>(reinterpret_cast<const char*>(from + i)));
    // Checks the whole word, because kernels combine words without masking the bits above the byte.
    for (int lane = 0; lane < kLanes; ++lane) {
      to[i + lane] = words[lane] < 256 ? static_cast<uint8_t>(words[lane]) : uint8_t{0x55};
    }
  }
}

template <class Layout>
constexpr Float8Vectors vectorsOf() {
  return {widenAll<Float8Format<Layout>>, narrowAll<Float8Format<Layout>>};
}

}  // namespace
}  // namespace jccl::test
