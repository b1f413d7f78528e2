#include "cuda/kernels/collective_cuda.h"

JCCL_COLLECTIVE_KERNELS(ll128, jccl::Protocol::LL128)
