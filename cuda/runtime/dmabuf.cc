// Exports device memory as a dma-buf, for the drivers of network adapters.
#include <string>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"

namespace jccl::device {

Status exportDmabuf(void* memory, size_t bytes, int& descriptor) {
  const driver::Driver& driver = driver::driver();
  if (driver.rangeHandle == nullptr) return driver::missing("cuMemGetHandleForAddressRange");
  int device = 0;
  int supported = 0;
  Status status = currentDevice(device);
  if (status) status = attributeOf(device, driver::DeviceAttribute::DmaBuf, supported);
  if (!status) return status;
  const std::string facts = "device=" + std::to_string(device) + " " + bytesFact(bytes);
  if (supported == 0) return {Code::System, facts + ": its driver makes no dma-buf (the open kernel modules do)"};
  return driver::statusOf("cuMemGetHandleForAddressRange",
                          driver.rangeHandle(&descriptor, addressOf(memory), bytes, driver::kDmaBufDescriptor, 0),
                          facts);
}

}  // namespace jccl::device
