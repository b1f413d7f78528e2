// The reductions that the switch between GPUs computes. Each is an instruction of its own: see multicast.h.
#pragma once

#include <cstdint>

namespace jccl::simt {

enum class SwitchReduction : uint8_t {
  SumInt32,
  SumInt64,
  MinInt32,
  MinUint32,
  MinInt64,
  MinUint64,
  MaxInt32,
  MaxUint32,
  MaxInt64,
  MaxUint64,
  And,
  Or,
  Xor,
  SumFloat16,
  SumBfloat16,
  SumFloat32,
  SumFloat64,
};

}  // namespace jccl::simt
