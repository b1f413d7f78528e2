#include "primitives/reduce_kernels.h"

#if !defined(__AVX2__) || !defined(__F16C__)
#error "this file is compiled with the instruction set that its name says"
#endif

namespace jccl {

constinit const ReduceTable kReduceAvx2 = makeTable();

}  // namespace jccl
