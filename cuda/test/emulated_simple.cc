#include "cuda/test/emulated_collective.h"

namespace jccl::test {

template void collectiveKernelWith<Protocol::Simple>(const device::Launch& launch);

}  // namespace jccl::test
