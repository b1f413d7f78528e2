// The tables of narrowing functions, one for each instruction set.
#pragma once

#include "primitives/wire_format.h"

namespace jccl {

struct WireTable {
  WireCodec codecs[kWireFormatCount][2][2];  // [format][stochastic][is float64]
};

extern const WireTable kWirePortable;
extern const WireTable kWireAvx2;
extern const WireTable kWireAvx512;

}  // namespace jccl
