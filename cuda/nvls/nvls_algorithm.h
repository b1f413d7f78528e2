// NVLS: the ranks behind one NVLink switch share a multicast object, through which the switch reduces and multicasts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/nvls/multicast_memory.h"
#include "cuda/runtime/added_algorithm.h"
#include "cuda/runtime/device_communicator.h"

namespace jccl::device {

// After DeviceCommunicator::prepare, one rank creates a multicast object and sends the others the `info` of create; all
// ranks join. When all have joined, all bind; when all have bound, all test the object together. If any step fails on
// any rank, all ranks drop the object.
class NvlsAlgorithm : public AddedAlgorithm {
 public:
  explicit NvlsAlgorithm(DeviceCommunicator& communicator) : communicator_(communicator) {}

  // `slotBytes` is the size of the slot that each rank has in a channel; equal on all ranks.
  Status create(uint32_t slotBytes, std::vector<uint8_t>& info);
  // Returns the object's descriptor for other processes, -1 if there is none. The caller closes it.
  int takeDescriptor() { return descriptor_.release(); }
  // `descriptor` is the object's descriptor as received from another process, -1 if a rank of this process created the
  // object; join closes it.
  Status join(uint32_t slotBytes, std::span<const uint8_t> info, int descriptor);
  Status bind();
  // Tests every reduction of the switch. One wrong result is a reason to drop the object: nothing else that this switch
  // computes could be trusted.
  Status test(int64_t timeoutNanos);
  void drop();

  bool executes(Algorithm algorithm) const override { return algorithm == Algorithm::Nvls; }
  bool adjust(OperationCode code, Choice& choice) const override;
  Issued launch(WorksLauncher& launcher) const override;
  void leak() override { memory_.leak(); }
  void leakShared() override { memory_.leak(); }

 private:
  const DeviceCommunicatorConfig& config() const { return communicator_.config(); }

  DeviceCommunicator& communicator_;
  MulticastMemory memory_;
  UniqueFd descriptor_;
  uint32_t slotBytes_ = 0;
};

}  // namespace jccl::device
