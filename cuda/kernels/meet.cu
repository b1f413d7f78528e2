#include "cuda/kernels/meet_kernel.h"

extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)
    jccl_meet(const __grid_constant__ jccl::device::MeetLaunch launch) {
  __shared__ jccl::device::MeetKernel::Shared shared;
  jccl::device::MeetKernel::run(launch, shared);
}
