#include "cuda/test/emulated_collective.h"

namespace jccl::test {

template void collectiveKernelWith<Protocol::LL128>(const device::Launch& launch);

}  // namespace jccl::test
