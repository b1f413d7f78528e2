// The compiled kernels, as the driver loads them: an image for each file of them, with the code of all architectures.
#pragma once

#include <cstdint>

namespace jccl::device {

enum class KernelImage : uint8_t { LL, LL128, Simple, InPlace, Exchange, CollNet, Nvls };
constexpr int kKernelImageCount = 7;

// What cuModuleLoadData takes; null where the build has no architecture that the kernels are for (NVLS: 9.0 and newer).
const void* imageOf(KernelImage image);
// Of which version of CUDA the compiler was that made them; drivers load what is of their major version or an earlier one (CUDA
// Compatibility, minor version compatibility).
int versionOfImages();
// The image's name, which is its file's and is in it.
constexpr const char* nameOf(KernelImage image) {
  constexpr const char* kNames[] = {
      "collective_ll", "collective_ll128", "collective_simple", "in_place", "exchange", "coll_net", "nvls"};
  return kNames[static_cast<int>(image)];
}

}  // namespace jccl::device
