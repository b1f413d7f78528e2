// The library's kernels as functions for the emulator. The launch selects the protocol and the class of elements.
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
