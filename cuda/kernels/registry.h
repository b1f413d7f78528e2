// The kernels of libjccl_cuda.so: the kernel for each operation, and the list of all kernels. All kernels are loaded
// before the first launch: loading one later could wait for ever for a kernel that spins.
#pragma once

#include <string>

#include "cuda/kernels/element_class.h"
#include "cuda/kernels/launch.h"

namespace jccl::device {

// A kernel: its image, its name in the image, and its description for messages.
struct KernelEntry {
  std::string name;  // "jccl_collective_ll_float32", "jccl_in_place_float32", "jccl_exchange", ...
  std::string image;  // name of its image: see imageOf()
  const char* family;  // "collective", "in_place", "exchange", "coll_net" or "nvls"
  Protocol protocol;
  ElementClass element;
};

// Returns a kernel whose only argument is a Launch.
const KernelEntry& collectiveKernel(Protocol protocol, Collective collective, DataType type);
// Returns a kernel whose only argument is an InPlaceLaunch.
const KernelEntry& inPlaceKernel(Collective collective, DataType type);
// Returns a kernel for CollNetChain and CollNetDirect. Its only argument is a Launch.
const KernelEntry& collNetKernel(Collective collective, DataType type);
// Returns a kernel whose only argument is an NvlsLaunch. nvlsExecutes() must be true for the operation.
const KernelEntry& nvlsKernel(Collective collective, DataType type);
// Returns the kernel whose only argument is an ExchangeLaunch.
const KernelEntry& exchangeKernel();

// All kernels, numbered from 0 to kKernelCount - 1.
constexpr int kNvlsKernelCount = 7;  // the 8-bit floats, which are the last element classes, have no NVLS kernels
constexpr int kKernelCount = 3 * kElementClassCount + kElementClassCount + 1 + kElementClassCount + kNvlsKernelCount;
const KernelEntry& kernelAt(int index);
// Returns the number of a kernel.
int numberOf(const KernelEntry& kernel);

}  // namespace jccl::device
