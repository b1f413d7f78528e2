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

  // Lets the switch work on a symmetric window, after bind(). One rank creates an object for its window and sends the
  // others the `info`; all join it with their windows, and bind them when all have joined. If any step fails on any rank,
  // all ranks drop the window. All ranks drop a window before its memory is freed, when no operation is in flight.
  Status createWindow(const uint8_t* window, std::vector<uint8_t>& info);
  Status joinWindow(const uint8_t* window, std::span<const uint8_t> info, int descriptor);
  Status bindWindow(const uint8_t* window);
  void dropWindow(const uint8_t* window);

  bool executes(Algorithm algorithm) const override { return algorithm == Algorithm::Nvls; }
  bool adjust(OperationCode code, Choice& choice) const override;
  Issued launch(WorksLauncher& launcher) const override;
  bool needsDescriptors() const override { return memory_.isReady(); }
  void leak() override;
  void leakShared() override { leak(); }

 private:
  struct Window {
    const uint8_t* memory;
    MulticastMemory multicast;
  };

  const DeviceCommunicatorConfig& config() const { return communicator_.config(); }
  // Returns the object of a window, made by the first call; null if the window has no place in launches or its memory
  // cannot be bound.
  Status windowAt(const uint8_t* window, MulticastMemory*& multicast);
  Status offer(MulticastMemory& memory, uint32_t slotBytes, std::vector<uint8_t>& info);
  Status accept(MulticastMemory& memory, uint32_t slotBytes, size_t bytes, std::span<const uint8_t> info,
                int descriptor);

  DeviceCommunicator& communicator_;
  MulticastMemory memory_;
  std::vector<Window> windows_;  // in the order in which they were created, which is equal on all ranks
  UniqueFd descriptor_;
  uint32_t slotBytes_ = 0;
};

}  // namespace jccl::device
