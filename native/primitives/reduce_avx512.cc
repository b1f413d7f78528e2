#include "primitives/reduce_kernels.h"

#if !defined(__AVX512F__) || !defined(__AVX512DQ__)
#error "this file must be compiled for the instruction set in its name"
#endif

namespace jccl {

constinit const ReduceTable kReduceAvx512 = makeTable();

}  // namespace jccl
