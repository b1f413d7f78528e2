// The launch descriptor of NVLS.
#pragma once

#include "cuda/kernels/launch.h"

namespace jccl::device {

// A channel's control data in the memory that each rank binds to a multicast object; zero at first.
struct MulticastChannel {
  static constexpr int kMaxRanks = kMaxLinks + 1;
  static constexpr int kSlots = 3;
  enum Phase : int { kFilled = 0, kDone = 1 };

  alignas(128) uint64_t uses;                         // number of slot uses so far; written by the rank itself
  alignas(128) uint64_t prints[kMaxRanks];            // fingerprint of each rank's operation
  alignas(128) uint64_t places[kMaxRanks];            // number of each rank's operation, and places of its buffers
  alignas(128) uint64_t flags[kSlots][2][kMaxRanks];  // by slot, phase, rank: how often the rank reached the phase
};

// Launch of all-reduces, all-gathers and reduce-scatters through a multicast object.
struct NvlsLaunch : Works {
  int32_t rank;
  int32_t size;
  DeviceChannel* channels;
  LaunchControl control;
  uint8_t* memory;     // this rank's memory: a MulticastChannel for each channel, then the channels' slots
  uint8_t* multicast;  // multicast address of the same memory on all ranks
  uint32_t channelCount;
  uint32_t slotBytes;
  // Symmetric windows of this rank that have a multicast address, in an order that is equal on all ranks.
  struct Window {
    const uint8_t* memory;
    size_t bytes;
    uint8_t* multicast;
  };
  static constexpr uint32_t kMaxWindows = 16;
  uint32_t windowCount;  // equal on all ranks
  Window windows[kMaxWindows];
  InlineArguments inlined;

  static constexpr size_t memoryBytes(int channels, uint32_t slotBytes) {
    return static_cast<size_t>(channels) * (sizeof(MulticastChannel) + MulticastChannel::kSlots * size_t{slotBytes});
  }
};
static_assert(sizeof(NvlsLaunch) <= kMaxParameterBytes);

}  // namespace jccl::device
