#include "primitives/reduce_kernels.h"

#if !defined(__AVX512F__) || !defined(__AVX512DQ__)
#error "this file is compiled with the instruction set that its name says"
#endif

namespace jccl {

constinit const ReduceTable kReduceAvx512 = makeTable();

}  // namespace jccl
