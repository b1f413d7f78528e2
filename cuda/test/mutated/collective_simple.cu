#include "cuda/test/mutated/collective_mutated.h"

JCCL_MUTATED_KERNELS(simple, jccl::Protocol::Simple)
