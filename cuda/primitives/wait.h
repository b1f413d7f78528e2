// Waits of device threads. Each is limited by the clock, the abort word and failures elsewhere in the launch. Every
// loop of device code that waits uses a Waiter.
//
// The words that limit waits are in host memory. One thread of a block at a time reads them: the first that waits when
// the time for a reading has come. The other threads find the result in shared memory.
#pragma once

#include <cstdint>

#include "base/code.h"
#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/primitives/compiler.h"
#include "cuda/primitives/progress_record.h"
#include "primitives/control_words.h"

namespace jccl::device {

// State that all waits of a block share.
struct WaitControl {
  ChannelControls controls;
  ProgressRecord* record;  // record of the block's channel
  uint64_t sequence;
  uint64_t startNanos;
  uint64_t timeoutNanos;  // counted from startNanos; 0: for ever
  // Time at which a thread next reads the host's words; kOver: the operation has failed.
  mutable uint64_t due;

  static constexpr uint64_t kOver = ~uint64_t{0};
};

// Records a failure for all channels and for the host. A code that was recorded earlier stays.
JCCL_DEVICE_CALL inline void setResult(ControlWords* words, int channels, uint32_t code) {
  simt::storeFirst(&words->result, code);
  const uint32_t first = simt::loadAcquire(&words->result);
  JCCL_NO_UNROLL
  for (int channel = 1; channel < channels; ++channel) simt::storeFirst(&words[channel].result, first);
}

class Waiter {
 public:
  JCCL_DEVICE explicit Waiter(const WaitControl& control) : control_(control) {}

  // State of one thread's wait.
  struct WaitMemory {
    uint64_t start = 0;
    uint64_t shown = 0;  // time at which this wait last wrote the record; 0: never
  };

  // Returns true as soon as ready() is true, and false when the deadline has passed or the operation has failed.
  template <class Ready>
  JCCL_DEVICE bool wait(Ready&& ready, const WaitPlace& place) const {
    return waitUntil(ready, place, [](bool goesOn) { return goesOn; });
  }

  // Like wait(), for lanes of a warp that must stay together: ready() returns the same value to all of them.
  template <class Ready>
  JCCL_DEVICE bool waitTogether(unsigned mask, Ready&& ready, const WaitPlace& place) const {
    return waitUntil(ready, place, [mask](bool goesOn) { return simt::all(mask, goesOn); });
  }

  // Returns true if a loop that waits for several things may poll again. goesOn() reads the clock, so do not call it in
  // every iteration.
  JCCL_DEVICE bool goesOn(WaitMemory& memory, const WaitPlace& place) const {
    if (memory.start == 0) memory.start = simt::nanos();
    memory.shown = look(control_, memory.start, memory.shown, ProgressRecord::encode(place));
    return memory.shown != WaitControl::kOver;
  }

  // Clears the progress record after a wait, if the wait has written it.
  JCCL_DEVICE void forget(const WaitMemory& memory) const {
    if (memory.shown != 0) simt::storeRelaxed(&control_.record->sequence, uint64_t{0});
  }

  // Fails the operation, and leaves in the progress record where it failed.
  JCCL_DEVICE void fail(Code code, const WaitPlace& place) const {
    failAt(control_, code, ProgressRecord::encode(place));
  }

 private:
  static constexpr int kFirstPolls = 64;
  static constexpr int kPollsPerClock = 32;
  static constexpr uint64_t kLookNanos = 10'000;
  static constexpr uint64_t kLongWaitNanos = 1'000'000;

  // look() and failAt() are not inlined, to keep waiting loops small. Their `place` is the result of
  // ProgressRecord::encode(). look() returns the time at which this wait last wrote the record, or kOver.
  JCCL_DEVICE_CALL static uint64_t look(const WaitControl& control, uint64_t start, uint64_t shown, uint64_t place) {
    const uint64_t now = simt::nanos(), due = simt::loadShared(&control.due);
    if (due == WaitControl::kOver) return due;
    if (now < due || simt::swapShared(&control.due, due, now + kLookNanos) != due) return shown;
    if (Waiter(control).mayGoOn(now, start, shown, place)) return shown;
    simt::storeShared(&control.due, WaitControl::kOver);
    return WaitControl::kOver;
  }
  JCCL_DEVICE_CALL static void failAt(const WaitControl& control, Code code, uint64_t place) {
    const Waiter waiter(control);
    waiter.show(place, 0);
    waiter.fail(static_cast<uint32_t>(code));
    simt::storeShared(&control.due, WaitControl::kOver);
  }

  // Called by the one thread that reads the host's words. Returns false if the operation has failed.
  JCCL_DEVICE bool mayGoOn(uint64_t now, uint64_t start, uint64_t& shown, uint64_t place) const {
    const ControlWords& own = control_.controls.words[simt::blockIndex()];
    const uint32_t abort = simt::loadRelaxed(&own.abort), result = simt::loadAcquire(&own.result);
    if (abort != 0) {
      show(place, now - start);
      fail(abort);
      return false;
    }
    if (result != 0) {
      // The channel that failed has recorded where. Each other channel records the place at which the failure ended its
      // wait.
      if (simt::loadRelaxed(&control_.record->sequence) != control_.sequence + 1) show(place, now - start);
      return false;
    }
    if (control_.timeoutNanos != 0 && now - control_.startNanos >= control_.timeoutNanos) {
      show(place, now - start);
      fail(static_cast<uint32_t>(Code::Timeout));
      return false;
    }
    const uint64_t since = shown == 0 ? start : shown;
    if (now - since >= kLongWaitNanos) {
      show(place, now - start);
      shown = now;
    }
    return true;
  }

  // vote(goesOn) returns true if goesOn is true for all threads that wait together.
  template <class Ready, class Vote>
  JCCL_DEVICE bool waitUntil(Ready& ready, const WaitPlace& place, Vote&& vote) const {
    WaitMemory memory;
    int polls = kFirstPolls;
    JCCL_NO_UNROLL
    for (;;) {
      if (ready()) {
        forget(memory);
        return true;
      }
      simt::pause();
      if (--polls != 0) continue;
      polls = kPollsPerClock;
      if (!vote(goesOn(memory, place))) return false;
    }
  }

  JCCL_DEVICE void show(uint64_t place, uint64_t waitedNanos) const {
    simt::storeRelaxed(&control_.record->place, place);
    simt::storeRelaxed(&control_.record->waitedNanos, waitedNanos);
    simt::storeRelease(&control_.record->sequence, control_.sequence + 1);
  }

  JCCL_DEVICE void fail(uint32_t code) const { setResult(control_.controls.words, control_.controls.channels, code); }

  const WaitControl& control_;
};

}  // namespace jccl::device
