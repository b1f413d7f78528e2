// The compiled kernels in the form that the driver loads: one image for each file of kernels, with the code for all
// architectures.
#pragma once

#include <cstdint>

namespace jccl::device {

enum class KernelImage : uint8_t { LL, LL128, Simple, InPlace, Exchange, CollNet, Nvls };
constexpr int kKernelImageCount = 7;

// Returns the image for cuModuleLoadData; null if the build has no architecture that supports these kernels (NVLS: 9.0
// and newer).
const void* imageOf(KernelImage image);
// Returns the CUDA version of the compiler that built the images. A driver loads images of its own major version and of
// earlier ones (CUDA Compatibility, minor version compatibility).
int versionOfImages();
// Returns the name of the image's file, which the image also contains.
constexpr const char* nameOf(KernelImage image) {
  constexpr const char* kNames[] = {
      "collective_ll", "collective_ll128", "collective_simple", "in_place", "exchange", "coll_net", "nvls"};
  return kNames[static_cast<int>(image)];
}

}  // namespace jccl::device
