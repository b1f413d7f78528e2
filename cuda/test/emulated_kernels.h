// The kernels of the library as functions for the emulator: a descriptor says which.
#pragma once

#include "cuda/kernels/element_class.h"
#include "cuda/kernels/launch.h"

namespace jccl::test {

void collectiveKernel(const device::Launch& launch);
void inPlaceKernel(const device::InPlaceLaunch& launch);
void collNetKernel(const device::Launch& launch);
void nvlsKernel(const device::NvlsLaunch& launch);
void exchangeKernel(const device::ExchangeLaunch& launch);

}  // namespace jccl::test
