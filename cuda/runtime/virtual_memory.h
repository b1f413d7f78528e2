// Allocations of the driver's virtual memory management, and their addresses.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::device {

// Memory of a device; `shareable` by file descriptors.
driver::AllocationProperties allocationOn(int device, bool shareable);
// What the sizes of such memory are multiples of.
Status unitOfAllocations(int device, bool shareable, size_t& unit);
// That a device reads and writes it.
driver::MemoryAccess userOn(int device);
// Gives an allocation or a multicast object an address, a multiple of `unit`, under which these devices use it.
Status mapAllocation(driver::Allocation allocation, size_t bytes, size_t unit,
                     const std::vector<driver::MemoryAccess>& users, const std::string& facts, void*& memory);
Status unmapAllocation(void* memory, size_t bytes);

}  // namespace jccl::device
