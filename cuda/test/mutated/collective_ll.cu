#include "cuda/test/mutated/collective_mutated.h"

JCCL_MUTATED_KERNELS(ll, jccl::Protocol::LL)
