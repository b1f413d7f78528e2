#include "cuda/kernels/collective_cuda.h"

namespace jccl::device {

KernelTable collectiveKernelsSimple() { return collectiveKernels<Protocol::Simple>(); }

}  // namespace jccl::device
