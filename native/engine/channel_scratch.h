// Scratch memory in which a channel unpacks LL and LL128 chunks. Only sources with schedules include this header.
#pragma once

#include <type_traits>

#include "engine/channel.h"

namespace jccl {

// The memory is allocated when first needed, and only grows. SIMPLE needs none.
template <Protocol P>
bool Channel::scratch(int links, const Transfer& transfer, uint8_t*& space) {
  if constexpr (P != Protocol::Simple) {
    const size_t slice = (transfer.sliceCount * transfer.elementBytes + 63) / 64 * 64;
    return scratch(slice * (links + 1), space);
  }
  return true;
}

template <class Primitives>
inline constexpr bool kNarrows = std::is_same_v<Primitives, WirePrimitives>;

template <class Primitives>
bool Channel::scratchOf(int links, const Transfer& transfer, uint8_t*& space) {
  if constexpr (kNarrows<Primitives>) {
    return scratch(Primitives::scratchBytes(links, transfer.elementBytes), space);
  } else {
    return scratch<Primitives::kProtocol>(links, transfer, space);
  }
}

}  // namespace jccl
