#include "primitives/wire_kernels.h"

#if !defined(__AVX512F__)
#error "this file must be compiled for the instruction set in its name"
#endif
namespace jccl {

constinit const WireTable kWireAvx512 = makeWireTable();

}  // namespace jccl
