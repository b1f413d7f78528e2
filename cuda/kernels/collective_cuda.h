// The collective kernels of one protocol, one per class of elements.
#pragma once

#include "cuda/kernels/collective_kernel.h"
#include "cuda/kernels/element_of.h"
#include "cuda/kernels/registry.h"
#include "cuda/kernels/tables.h"

namespace jccl::device {

template <Protocol P, ElementClass C>
__global__ void __launch_bounds__(kMaxBlockThreads, 1) collective(const __grid_constant__ Launch launch) {
  using Kernel = CollectiveKernel<P, typename ElementOf<C>::Type>;
  JCCL_SHARED(typename Kernel::Shared, shared);
  Kernel::run(launch, shared);
}

template <Protocol P>
KernelTable collectiveKernels() {
  return {{reinterpret_cast<const void*>(&collective<P, ElementClass::Int8>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::Int32>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::Int64>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::Float16>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::Bfloat16>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::Float32>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::Float64>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::E4m3>),
           reinterpret_cast<const void*>(&collective<P, ElementClass::E5m2>)}};
}

}  // namespace jccl::device
