// The kernels of libjccl_cuda.so: which one runs what, and all of them, so that they can be loaded before any is needed
// (loading one while another spins could wait for ever).
#pragma once

#include <string>

#include "cuda/kernels/element_class.h"
#include "cuda/kernels/image.h"
#include "cuda/kernels/launch.h"

namespace jccl::device {

// Where a kernel is, by its name there, and what it is called in messages.
struct KernelEntry {
  std::string name;  // "jccl_collective_ll_float32", "jccl_in_place_float32", "jccl_exchange", ...
  KernelImage image;
  const char* family;  // "collective", "in_place", "exchange", "coll_net" or "nvls"
  Protocol protocol;
  ElementClass element;
};

// One argument: Launch.
const KernelEntry& collectiveKernel(Protocol protocol, Collective collective, DataType type);
// One argument: InPlaceLaunch.
const KernelEntry& inPlaceKernel(Collective collective, DataType type);
// One argument: Launch. Of CollNetChain and CollNetDirect.
const KernelEntry& collNetKernel(Collective collective, DataType type);
// One argument: NvlsLaunch. Only of what nvlsExecutes().
const KernelEntry& nvlsKernel(Collective collective, DataType type);
// One argument: ExchangeLaunch.
const KernelEntry& exchangeKernel();

// All kernels, by number below kKernelCount.
constexpr int kNvlsKernelCount = 7;  // none for the 8-bit floats, which are the last classes
constexpr int kKernelCount = 3 * kElementClassCount + kElementClassCount + 1 + kElementClassCount + kNvlsKernelCount;
const KernelEntry& kernelAt(int index);
// The number of one of them.
int numberOf(const KernelEntry& kernel);

}  // namespace jccl::device
