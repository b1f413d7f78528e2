// Report of a kernel's channel to the host about its wait.
#pragma once

#include <cstdint>

#include "base/function.h"
#include "primitives/wait_place.h"

namespace jccl::device {

// The place where a channel waits or has failed, in memory that the host maps and can read at any time. A thread writes
// the record when it has waited for long. If several threads of the channel wait, the record shows the thread that
// wrote last. Each single word is whole, but the words can come from different threads.
struct alignas(64) ProgressRecord {
  uint64_t sequence;     // number of the operation, plus one; written last; 0: nothing waits
  uint64_t place;        // peer 16 | transport 8 | waitFor 4 | protocol 4 | step 32
  uint64_t waitedNanos;  // how long the wait had lasted when the record was written

  JCCL_FN static constexpr uint64_t encode(const WaitPlace& at) {
    return static_cast<uint16_t>(at.peer) | static_cast<uint64_t>(at.transport) << 16 |
           static_cast<uint64_t>(at.waitFor) << 24 | static_cast<uint64_t>(at.protocol) << 28 | at.step << 32;
  }
  JCCL_FN static constexpr WaitPlace decode(uint64_t place) {
    return {static_cast<int16_t>(place), static_cast<TransportKind>(place >> 16 & 0xff),
            static_cast<WaitFor>(place >> 24 & 0xf), static_cast<Protocol>(place >> 28 & 0xf), place >> 32};
  }
};

}  // namespace jccl::device
