// Checks whether peers' kernels reach a rank's buffers under the rank's own addresses, which operations in place need.
//
// The driver is asked for all facts once per allocation. Later, one call per buffer returns the allocation's number,
// which no other allocation has in the life of the process: memory that was freed and allocated again is examined
// again. The check does not notice if the application withdraws access to memory that it keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/runtime/device_operation.h"

namespace jccl::device {

class PeerReach {
 public:
  // Adds a device that must reach the buffers. The first call must add the rank's own device; later calls add the
  // devices of its peers.
  Status add(int device);

  // Lets all devices that were added use memory of cuMemAlloc on `device`, now and in the future. Called before
  // operations in place, because the driver would wait for kernels of these devices; waits a while for such kernels
  // itself. From then on, allocating such memory waits for kernels of all these devices.
  void letPeersReach(int device) const;

  struct Found {
    uint64_t allocation = 0;  // number that the driver gave the allocation; 0: none
    std::string unreached;    // why a peer does not reach the memory; empty if all do
  };
  // Returns Invalid if the driver knows no memory there. The caller holds the guard of the rank's device.
  Status check(const MemoryRange& memory, Found& found);

 private:
  struct Allocation {
    uint64_t id = 0;  // number that the driver gave the allocation; 0: none
    uintptr_t begin = 0;
    size_t bytes = 0;
    std::string unreached;

    bool covers(const MemoryRange& memory) const {
      return MemoryRange{reinterpret_cast<const uint8_t*>(begin), bytes}.covers(memory);
    }
  };

  Status describe(const MemoryRange& memory, Allocation& allocation) const;
  void examinePlain(int device, Allocation& allocation) const;
  Status describeUnknown(const MemoryRange& memory) const;

  std::vector<int> devices_;
  // True if all devices access any memory of the process, even memory that the driver does not know.
  bool pageable_ = true;
  std::vector<Allocation> known_;
  size_t next_ = 0;  // entry of known_ to overwrite next
};

}  // namespace jccl::device
