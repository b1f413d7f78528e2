#include "cuda/kernels/probe_kernel.h"

extern "C" __global__ void __launch_bounds__(jccl::device::kMaxBlockThreads, 1)
    jccl_probe(const __grid_constant__ jccl::device::ProbeLaunch launch) {
  jccl::device::ProbeKernel::run(launch);
}
