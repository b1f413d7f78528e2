#include "cuda/kernels/collective_cuda.h"

JCCL_COLLECTIVE_KERNELS(ll, jccl::Protocol::LL)
