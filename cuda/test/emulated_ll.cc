#include "cuda/test/emulated_collective.h"

namespace jccl::test {

template void collectiveKernelWith<Protocol::LL>(const device::Launch& launch);

}  // namespace jccl::test
