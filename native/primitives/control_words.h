// The words that end the waits of kernels. The host writes them; kernels also write the code of a failure, which the
// host reads.
#pragma once

#include <cstdint>

#include "base/code.h"

namespace jccl {

// One channel's words, in host memory that the device maps. Each word has its own cache line and each channel its own
// words: blocks that read the same line of host memory wait for each other, 0.7 us each on an H100.
struct ControlWords {
  alignas(128) uint32_t abort;   // 0, or the Code with which all waits must end
  alignas(128) uint32_t result;  // 0, or the Code of the first failure; never cleared by a kernel
};

// The words of all channels. The words of channel 0 are set first, so they decide which of several Codes wins; the
// other channels get the same Code.
struct ChannelControls {
  ControlWords* words;
  int channels;

  void abort(Code code) const {
    uint32_t first = 0;
    if (__atomic_compare_exchange_n(&words->abort, &first, static_cast<uint32_t>(code), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      first = static_cast<uint32_t>(code);
    }
    for (int channel = 1; channel < channels; ++channel) {
      __atomic_store_n(&words[channel].abort, first, __ATOMIC_RELEASE);
    }
  }
};

}  // namespace jccl
