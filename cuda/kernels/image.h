// The compiled kernels in the form that the driver loads: one image for each file of kernels (.cu), with the code for
// all architectures.
#pragma once

#include <string_view>

namespace jccl::device {

// Returns the image of a file of kernels, for cuModuleLoadData. `file` is the file's name without .cu, which the image
// also contains. Returns null if the build has no architecture that supports these kernels.
const void* imageOf(std::string_view file);
// Returns the CUDA version of the compiler that built the images. A driver loads images of its own major version and of
// earlier ones (CUDA Compatibility, minor version compatibility).
int versionOfImages();
// Returns an image with nothing but PTX, which older drivers compile; null if the build has none of the file.
const void* ptxOf(std::string_view file);
// Returns true if the build has such images.
bool hasPtx();

}  // namespace jccl::device
