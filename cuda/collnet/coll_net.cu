#include "cuda/collnet/coll_net_kernel.h"
#include "cuda/kernels/element_of.h"

#define JCCL_COLL_NET_KERNEL(elementName, element)                                                                  \
  extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)                                   \
      jccl_coll_net_##elementName(const __grid_constant__ jccl::device::CollNetLaunch launch) {                     \
    using Kernel = jccl::device::CollNetKernel<jccl::device::ElementOf<jccl::device::ElementClass::element>::Type>; \
    JCCL_SHARED(Kernel::Shared, shared);                                                                            \
    Kernel::run(launch, shared);                                                                                    \
  }

JCCL_COLL_NET_KERNEL(int8, Int8)
JCCL_COLL_NET_KERNEL(int16, Int16)
JCCL_COLL_NET_KERNEL(int32, Int32)
JCCL_COLL_NET_KERNEL(int64, Int64)
JCCL_COLL_NET_KERNEL(float16, Float16)
JCCL_COLL_NET_KERNEL(bfloat16, Bfloat16)
JCCL_COLL_NET_KERNEL(float32, Float32)
JCCL_COLL_NET_KERNEL(float64, Float64)
JCCL_COLL_NET_KERNEL(float8_e4m3, E4m3)
JCCL_COLL_NET_KERNEL(float8_e5m2, E5m2)
