// Allocations of the driver's virtual memory management, and their addresses.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::device {

// Returns the properties of an allocation on a device. If `shareable`, it can be exported as a file descriptor.
driver::AllocationProperties allocationOn(int device, bool shareable);
// Sets `unit` to the granularity of allocations with the properties of allocationOn().
Status unitOfAllocations(int device, bool shareable, size_t& unit);
// Returns an access descriptor by which a device may read and write an allocation.
driver::MemoryAccess userOn(int device);
// Maps an allocation or a multicast object at a new address, a multiple of `unit`, which the devices in `users` can
// access.
Status mapAllocation(driver::Allocation allocation, size_t bytes, size_t unit,
                     const std::vector<driver::MemoryAccess>& users, const std::string& facts, void*& memory);
Status unmapAllocation(void* memory, size_t bytes);

}  // namespace jccl::device
