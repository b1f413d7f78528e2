#include "cuda/kernels/element_of.h"
#include "cuda/kernels/in_place_kernel.h"
#include "cuda/kernels/registry.h"
#include "cuda/kernels/tables.h"

namespace jccl::device {
namespace {

template <ElementClass C>
__global__ void __launch_bounds__(kMaxBlockThreads, 1) inPlace(const __grid_constant__ InPlaceLaunch launch) {
  using Kernel = InPlaceKernel<typename ElementOf<C>::Type>;
  JCCL_SHARED(typename Kernel::Shared, shared);
  Kernel::run(launch, shared);
}

}  // namespace

KernelTable inPlaceKernels() {
  return {{reinterpret_cast<const void*>(&inPlace<ElementClass::Int8>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::Int32>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::Int64>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::Float16>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::Bfloat16>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::Float32>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::Float64>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::E4m3>),
           reinterpret_cast<const void*>(&inPlace<ElementClass::E5m2>)}};
}

}  // namespace jccl::device
