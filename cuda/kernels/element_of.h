// Element types of device code by their class.
#pragma once

#include "cuda/kernels/element_class.h"
#include "cuda/primitives/elements.h"

namespace jccl::device {

// Maps a class to its type.
template <ElementClass C>
struct ElementOf;
template <>
struct ElementOf<ElementClass::Int8> {
  using Type = Integer<uint8_t>;
};
template <>
struct ElementOf<ElementClass::Int16> {
  using Type = Integer<uint16_t>;
};
template <>
struct ElementOf<ElementClass::Int32> {
  using Type = Integer<uint32_t>;
};
template <>
struct ElementOf<ElementClass::Int64> {
  using Type = Integer<uint64_t>;
};
template <>
struct ElementOf<ElementClass::Float16> {
  using Type = Float16;
};
template <>
struct ElementOf<ElementClass::Bfloat16> {
  using Type = Bfloat16;
};
template <>
struct ElementOf<ElementClass::Float32> {
  using Type = Float32;
};
template <>
struct ElementOf<ElementClass::Float64> {
  using Type = Float64;
};
template <>
struct ElementOf<ElementClass::E4m3> {
  using Type = E4m3;
};
template <>
struct ElementOf<ElementClass::E5m2> {
  using Type = E5m2;
};

}  // namespace jccl::device
