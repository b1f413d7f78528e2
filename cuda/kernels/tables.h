// What the .cu files contribute to the registry: the functions of their kernels, by class of elements.
#pragma once

#include "cuda/kernels/element_class.h"

namespace jccl::device {

struct KernelTable {
  const void* functions[kElementClassCount];
};

KernelTable collectiveKernelsLL();
KernelTable collectiveKernelsLL128();
KernelTable collectiveKernelsSimple();
KernelTable inPlaceKernels();
const void* exchangeKernelFunction();

}  // namespace jccl::device
