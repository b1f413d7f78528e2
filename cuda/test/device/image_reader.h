// Chooses the code of a kernel image as a driver does.
#pragma once

#include <string>

#include "cuda/driver/driver_api.h"

namespace jccl::emulator {

// Sets `name` to the name that the image contains if a driver of this CUDA version finds code in the image for a GPU of
// this capability, or PTX; `compiles` tells which. Otherwise returns the driver's error.
driver::Result readImage(const void* image, int capability, int driverVersion, std::string& name, bool& compiles);

}  // namespace jccl::emulator
