#include "cuda/kernels/collective_cuda.h"

JCCL_COLLECTIVE_KERNELS(simple, jccl::Protocol::Simple)
