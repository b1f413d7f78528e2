// The configuration of a rank's communicator on a GPU.
#pragma once

#include <cstdint>

#include "cuda/kernels/launch.h"
#include "engine/history.h"

namespace jccl::device {

constexpr int kMaxRanks = 4096;  // the largest number for which the memory and the messages of a rank are tested

struct DeviceCommunicatorConfig {
  int rank = 0;
  int size = 1;
  int channels = 1;
  int device = 0;
  int threads = 256;  // number of threads of a block of the kernels
  uint32_t simpleSlotBytes = 512 * 1024;
  uint32_t llSlotBytes = 64 * 1024;
  uint32_t ll128SlotBytes = 64 * 1024;
  uint64_t oneShotBytes = kMaxOneShotBytes;  // the most bytes of a one-shot all-reduce in place; equal on all ranks
  uint64_t token[2] = {0, 0};                // unique for each communicator
  uint64_t recordedOperations = History::kDefaultRecords;  // number of operations that the history keeps
  // Passes the segment to other processes as a file descriptor if the driver supports that.
  bool descriptors = false;
  // Allocates the segment so that other processes can open it by a legacy handle.
  bool handles = false;
};

}  // namespace jccl::device
