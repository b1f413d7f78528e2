// The kernels of libjccl_cuda.so: which one runs what, and all of them, so that they can be loaded before any is needed
// (loading one while another spins could wait for ever).
#pragma once

#include "cuda/kernels/element_class.h"
#include "cuda/kernels/launch.h"

namespace jccl::device {

// The function of a kernel, for cudaLaunchKernel, and what it is called in messages.
struct KernelEntry {
  const void* function;
  const char* family;  // "collective", "in_place" or "exchange"
  Protocol protocol;
  ElementClass element;
};

// One argument: Launch.
const KernelEntry& collectiveKernel(Protocol protocol, Collective collective, DataType type);
// One argument: InPlaceLaunch.
const KernelEntry& inPlaceKernel(Collective collective, DataType type);
// One argument: ExchangeLaunch.
const KernelEntry& exchangeKernel();

// All kernels, by number below kKernelCount.
constexpr int kKernelCount = 3 * kElementClassCount + kElementClassCount + 1;
const KernelEntry& kernelAt(int index);

}  // namespace jccl::device
