// Calls of NVIDIA's driver that the CUDA runtime lacks, resolved when they are first needed: nothing links against
// libcuda.so.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <string>

#include "base/status.h"

namespace jccl::device {

// The driver's function of this name, as it was from this version of CUDA on (1000 times the major one, 10 times the
// minor).
template <class Function>
Status findDriverCall(const char* name, unsigned version, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
  (void)version;
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return {Code::System, std::string("cudaGetDriverEntryPoint: call=") + name + ", " + cudaGetErrorName(error)};
  }
  if (result != cudaDriverEntryPointSuccess || found == nullptr) {
    return {Code::System, std::string("NVIDIA's driver has no ") + name + "; a newer one does"};
  }
  function = reinterpret_cast<Function>(found);
  return Status::ok();
}

// An error of the driver by its name.
inline Status driverStatus(const char* call, CUresult result, const std::string& facts = {}) {
  if (result == CUDA_SUCCESS) return Status::ok();
  static PFN_cuGetErrorName_v6000 nameOf = nullptr;
  static const Status found = findDriverCall("cuGetErrorName", 6000, nameOf);
  const char* name = nullptr;
  if (found) (void)nameOf(result, &name);
  const Code code = result == CUDA_ERROR_OUT_OF_MEMORY   ? Code::NoMemory
                    : result == CUDA_ERROR_INVALID_VALUE ? Code::Invalid
                                                         : Code::System;
  return {code, std::string(call) + ": " + (facts.empty() ? "" : facts + ", ") +
                    (name == nullptr ? "CUresult=" + std::to_string(static_cast<int>(result)) : name)};
}

}  // namespace jccl::device
