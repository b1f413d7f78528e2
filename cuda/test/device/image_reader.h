// Which code a driver takes of an image of kernels.
#pragma once

#include "cuda/driver/driver_api.h"
#include "cuda/kernels/image.h"

namespace jccl::emulator {

// The name of an image, where a driver of this version of CUDA finds code in it for a GPU of this capability, or PTX; what it
// returns where it finds none.
driver::Result readImage(const void* image, int capability, int driverVersion, device::KernelImage& name);

}  // namespace jccl::emulator
