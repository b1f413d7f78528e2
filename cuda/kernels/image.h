// The compiled kernels, as the driver loads them: an image for each file of them, with the code of all architectures.
#pragma once

#include <cstdint>

namespace jccl::device {

enum class KernelImage : uint8_t { LL, LL128, Simple, InPlace, Exchange };
constexpr int kKernelImageCount = 5;

// What cuModuleLoadData takes.
const void* imageOf(KernelImage image);

}  // namespace jccl::device
