#include "cuda/test/mutated/collective_mutated.h"

JCCL_MUTATED_KERNELS(ll128, jccl::Protocol::LL128)
