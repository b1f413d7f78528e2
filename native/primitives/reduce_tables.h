// The kernels of each instruction set, by operation and type. Only the reduce_* files include this header.
#pragma once

#include "primitives/reduce.h"

namespace jccl {

struct ReduceTable {
  ReduceCopyFn kernels[kReduceOpCount][kDataTypeCount];
};

extern const ReduceTable kReducePortable;
#if defined(__x86_64__)
extern const ReduceTable kReduceAvx2;
extern const ReduceTable kReduceAvx512;
#endif

}  // namespace jccl
