#include "cuda/kernels/collective_cuda.h"

namespace jccl::device {

KernelTable collectiveKernelsLL() { return collectiveKernels<Protocol::LL>(); }

}  // namespace jccl::device
