// How waits of kernels are ended: by the host, and by kernels among themselves, whose failure the host reads here as well.
#pragma once

#include <cstdint>

#include "base/code.h"

namespace jccl {

// Of a channel, in memory of the host that the device maps. Each word has a line of its own, and each channel its own words: blocks
// that read the same line of the host's memory wait for each other, 0.7 us each on an H100.
struct ControlWords {
  alignas(128) uint32_t abort;   // 0, or the Code with which everything shall end
  alignas(128) uint32_t result;  // 0, or the Code of the first failure; never cleared by a kernel
};

// Of all channels. The words of channel 0 are set first, and decide; the others follow.
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
