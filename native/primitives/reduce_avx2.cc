#include "primitives/reduce_kernels.h"

#if !defined(__AVX2__) || !defined(__F16C__)
#error "this file must be compiled for the instruction set in its name"
#endif

namespace jccl {

constinit const ReduceTable kReduceAvx2 = makeTable();

}  // namespace jccl
