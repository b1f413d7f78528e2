#include "cuda/kernels/element_of.h"
#include "cuda/nvls/nvls_kernel.h"

#define JCCL_NVLS_KERNEL(elementName, element)                                                                   \
  extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)                                \
      jccl_nvls_##elementName(const __grid_constant__ jccl::device::NvlsLaunch launch) {                         \
    using Kernel = jccl::device::NvlsKernel<jccl::device::ElementOf<jccl::device::ElementClass::element>::Type>; \
    JCCL_SHARED(Kernel::Shared, shared);                                                                         \
    Kernel::run(launch, shared);                                                                                 \
  }

JCCL_NVLS_KERNEL(int8, Int8)
JCCL_NVLS_KERNEL(int16, Int16)
JCCL_NVLS_KERNEL(int32, Int32)
JCCL_NVLS_KERNEL(int64, Int64)
JCCL_NVLS_KERNEL(float16, Float16)
JCCL_NVLS_KERNEL(bfloat16, Bfloat16)
JCCL_NVLS_KERNEL(float32, Float32)
JCCL_NVLS_KERNEL(float64, Float64)
