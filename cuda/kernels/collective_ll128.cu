#include "cuda/kernels/collective_cuda.h"

namespace jccl::device {

KernelTable collectiveKernelsLL128() { return collectiveKernels<Protocol::LL128>(); }

}  // namespace jccl::device
