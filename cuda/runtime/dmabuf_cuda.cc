// Device memory as a dma-buf, for the drivers of network adapters.
#include <string>

#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_call_cuda.h"

namespace jccl::device {

#if CUDART_VERSION >= 11070
namespace {

// What it takes of the driver.
struct Driver {
  PFN_cuDeviceGet_v2000 deviceGet = nullptr;
  PFN_cuDeviceGetAttribute_v2000 deviceGetAttribute = nullptr;
  PFN_cuMemGetHandleForAddressRange_v11070 handleOfRange = nullptr;
  Status found;

  Driver() {
    found = findDriverCall("cuDeviceGet", 2000, deviceGet);
    if (found) found = findDriverCall("cuDeviceGetAttribute", 2000, deviceGetAttribute);
    if (found) found = findDriverCall("cuMemGetHandleForAddressRange", 11070, handleOfRange);
  }
};

}  // namespace

Status exportDmabuf(void* memory, size_t bytes, int& descriptor) {
  static const Driver driver;
  if (!driver.found) return driver.found;
  int ordinal = 0;
  if (Status status = currentDevice(ordinal); !status) return status;
  CUdevice device = 0;
  int supported = 0;
  Status status = driverStatus("cuDeviceGet", driver.deviceGet(&device, ordinal));
  if (status) {
    status = driverStatus("cuDeviceGetAttribute",
                          driver.deviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device));
  }
  if (!status) return status;
  const std::string facts = "device=" + std::to_string(ordinal) + " bytes=" + std::to_string(bytes);
  if (supported == 0) return {Code::System, facts + ": its driver makes no dma-buf (the open kernel modules do)"};
  return driverStatus("cuMemGetHandleForAddressRange",
                      driver.handleOfRange(&descriptor, reinterpret_cast<CUdeviceptr>(memory), bytes,
                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                      facts);
}
#else
Status exportDmabuf(void*, size_t, int&) {
  return {Code::System, "this build is of a CUDA older than 11.7, which has no dma-buf"};
}
#endif

}  // namespace jccl::device
