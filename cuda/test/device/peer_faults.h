// Faults of the paths between emulated GPUs, as behind an IOMMU or access control services (ACS) that redirect PCI
// traffic between devices.
//
// JCCL_EMULATED_FAULTS in the environment lists faults, separated by commas. GPUs have their numbers on the host:
//
//   reads:0-1    kernels of GPU 0 that read memory of GPU 1 get bytes of ones
//   writes:0-1   what kernels of GPU 0 write to memory of GPU 1 is lost
//
// A fault of the form FAMILY/reads:0-1 concerns only kernels whose names contain FAMILY, as "in_place" or "collective".
#pragma once

namespace jccl::emulator {

// Makes kernels meet the faults that the environment lists, if it lists any. Called before kernels run.
void usePeerFaults();

}  // namespace jccl::emulator
