#include "primitives/wire_kernels.h"

namespace jccl {

constinit const WireTable kWirePortable = makeWireTable();

}  // namespace jccl
