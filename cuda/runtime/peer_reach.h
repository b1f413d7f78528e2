// Whether peers' kernels reach a rank's buffers under its own addresses, as operations in place use them.
//
// The driver is asked for everything once for an allocation. From then on one call for a buffer gives the allocation's number,
// which no other has in the life of the process: memory that was freed and allocated again is asked for again. Access that the
// application takes away from memory that it keeps is not noticed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/runtime/device_operation.h"

namespace jccl::device {

class PeerReach {
 public:
  // The rank's own device, then those of its peers.
  Status add(int device);

  struct Found {
    uint64_t allocation = 0;  // the driver's number of it; 0: it has given none
    std::string unreached;    // what a peer does not reach of the memory; empty where it reaches all
  };
  // Invalid where the driver knows no memory there. The caller holds the guard of the rank's device.
  Status check(const MemoryRange& memory, Found& found);

 private:
  struct Allocation {
    uint64_t id = 0;  // the driver's; 0: it has given none
    uintptr_t begin = 0;
    size_t bytes = 0;
    std::string unreached;

    bool covers(const MemoryRange& memory) const {
      return MemoryRange{reinterpret_cast<const uint8_t*>(begin), bytes}.covers(memory);
    }
  };

  Status describe(const MemoryRange& memory, Allocation& allocation) const;
  Status describeUnknown(const MemoryRange& memory) const;

  std::vector<int> devices_;
  bool pageable_ = true;  // all of them reach any memory of the process, which the driver does not know then
  std::vector<Allocation> known_;
  size_t next_ = 0;  // the one to forget
};

}  // namespace jccl::device
