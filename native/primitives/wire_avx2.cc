#include "primitives/wire_kernels.h"

#if !defined(__AVX2__)
#error "this file must be compiled for the instruction set in its name"
#endif
namespace jccl {

constinit const WireTable kWireAvx2 = makeWireTable();

}  // namespace jccl
