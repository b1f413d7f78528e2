#include "primitives/reduce_kernels.h"

namespace jccl {

constinit const ReduceTable kReducePortable = makeTable();

}  // namespace jccl
